//! BIND_CONN_TO_SESSION (RFC 8881 §18.34).

use proto::nfs4::{BindConnToSessionArgs, BindConnToSessionOk, ClientDirection, ServerDirection};
use state::Direction;

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn bind(compound: &mut Compound<'_>, args: &BindConnToSessionArgs) -> OpResult<BindConnToSessionOk> {
    let session = state::SessionId(args.session.0);
    let (direction, answer) = match args.direction {
        ClientDirection::Fore => (Direction::Fore, ServerDirection::Fore),
        ClientDirection::Back => (Direction::Back, ServerDirection::Back),
        ClientDirection::ForeOrBoth | ClientDirection::BackOrBoth => (Direction::Both, ServerDirection::Both),
    };
    compound.cx.server.state.bind_connection(&session, compound.cx.request.peer.connection, direction)?;
    Ok(BindConnToSessionOk { session: args.session, direction: answer, use_rdma: false })
}
