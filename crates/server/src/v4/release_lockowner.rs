//! RELEASE_LOCKOWNER (RFC 7530 §16.37).

use proto::nfs4::ReleaseLockownerArgs;

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn release_lockowner(compound: &mut Compound<'_>, args: &ReleaseLockownerArgs<'_>) -> OpResult<()> {
    let (state, now) = (&compound.cx.server.state, compound.cx.request.now);
    Ok(state.release_lockowner(now, state::ClientId(args.owner.client.0), args.owner.owner)?)
}
