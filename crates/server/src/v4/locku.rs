//! LOCKU (RFC 7530 §16.12, RFC 8881 §18.12).

use proto::nfs4::{LockuArgs, Stateid};
use state::{ByteRange, StateError};

use super::compound::Compound;
use super::failure::OpResult;
use super::state_error::{inner, of_lock, outer};

pub(super) fn locku(compound: &mut Compound<'_>, args: &LockuArgs) -> OpResult<Stateid> {
    let (scope, stateid) = (compound.stateid_scope()?, inner(&compound.stateid(&args.stateid)?));
    let file = compound.current()?.file_key();
    let range = ByteRange::nfs4(args.offset, args.length).map_err(StateError::from)?;
    let (state, now) = (&compound.cx.server.state, compound.cx.request.now);
    let unlocked = compound.cx.in_steps(|| state.unlock(now, scope.of(&stateid), &file, range))?;
    let unlocked = outer(&unlocked.map_err(|error| of_lock(error, compound.progress.minor))?);
    compound.progress.current_stateid = Some(unlocked);
    Ok(unlocked)
}
