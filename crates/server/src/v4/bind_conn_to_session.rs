//! BIND_CONN_TO_SESSION (RFC 8881 §18.34).

use proto::nfs4::{BindConnToSessionArgs, BindConnToSessionOk, ClientDirection, ServerDirection, Status};
use state::Direction;

use super::compound::Compound;
use super::failure::Outcome;

pub(super) fn bind(compound: &mut Compound<'_>, args: &BindConnToSessionArgs) -> Outcome<BindConnToSessionOk> {
    let session = state::SessionId(args.session.0);
    // Nothing is called back yet: connections carry requests of clients only.
    if args.direction == ClientDirection::Back {
        return Err(Status::Inval.into());
    }
    compound.cx.server.state.bind_connection(&session, compound.cx.request.peer.connection, Direction::Fore)?;
    Ok(BindConnToSessionOk { session: args.session, direction: ServerDirection::Fore, use_rdma: false })
}
