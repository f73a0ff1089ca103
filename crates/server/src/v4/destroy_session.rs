//! DESTROY_SESSION (RFC 8881 §18.37).

use proto::nfs4::{DestroySessionArgs, Status};

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn destroy_session(compound: &mut Compound<'_>, args: &DestroySessionArgs) -> OpResult<()> {
    let session = state::SessionId(args.session.0);
    // The session of this request ends with its last operation (§18.37.3).
    let is_own = compound.session().is_ok_and(|own| own == session);
    if is_own && compound.progress.done + 1 < compound.progress.count {
        return Err(Status::NotOnlyOp.into());
    }
    Ok(compound.cx.server.state.destroy_session(&session, compound.cx.request.peer.connection)?)
}
