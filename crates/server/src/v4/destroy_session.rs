//! DESTROY_SESSION (RFC 8881 §18.37).

use proto::nfs4::DestroySessionArgs;

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn destroy_session(compound: &mut Compound<'_>, args: &DestroySessionArgs) -> OpResult<()> {
    let session = state::SessionId(args.session.0);
    Ok(compound.cx.server.state.destroy_session(&session, compound.cx.request.peer.connection)?)
}
