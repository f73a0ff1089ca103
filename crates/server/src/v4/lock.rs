//! LOCK (RFC 7530 §16.10, RFC 8881 §18.10).

use proto::nfs4::{LockArgs, LockOk, LockType, Locker};
use state::{ByteRange, StateError};

use super::compound::Compound;
use super::failure::OpResult;
use super::state_error::{inner, of_lock, outer};

pub(super) fn lock(compound: &mut Compound<'_>, args: &LockArgs<'_>) -> OpResult<LockOk> {
    let file = compound.current()?.file_key();
    let stateid = match &args.locker {
        Locker::Existing { lock_stateid, .. } => inner(&compound.stateid(lock_stateid)?),
        Locker::New { open_stateid, .. } => inner(&compound.stateid(open_stateid)?),
    };
    let locker = match &args.locker {
        Locker::Existing { .. } => state::Locker::Existing(&stateid),
        Locker::New { owner, .. } => state::Locker::New { open: &stateid, owner: owner.owner },
    };
    let wanted = state::LockArgs {
        scope: compound.stateid_scope()?,
        file,
        locker,
        range: ByteRange::nfs4(args.offset, args.length).map_err(StateError::from)?,
        exclusive: is_exclusive(args.lock_type),
        blocking: matches!(args.lock_type, LockType::ReadWait | LockType::WriteWait),
        reclaim: args.reclaim,
    };
    let cx = compound.cx;
    let locked = cx.note_if_full(cx.server.state.lock(cx.request.now, &wanted));
    let stateid = outer(&locked.map_err(|error| of_lock(error, compound.progress.minor))?);
    compound.progress.current_stateid = Some(stateid);
    Ok(LockOk { stateid })
}

/// Whether a lock excludes readers too.
pub(super) fn is_exclusive(lock_type: LockType) -> bool {
    matches!(lock_type, LockType::Write | LockType::WriteWait)
}
