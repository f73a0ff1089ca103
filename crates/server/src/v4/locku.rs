//! LOCKU (RFC 7530 §16.12, RFC 8881 §18.12).

use proto::nfs4::{LockuArgs, Stateid};
use state::ByteRange;

use super::compound::Compound;
use super::failure::Outcome;
use super::state_error::{inner, outer};

pub(super) fn locku(compound: &mut Compound<'_>, args: &LockuArgs) -> Outcome<Stateid> {
    let (door, stateid) = (compound.door()?, inner(&compound.stateid(&args.stateid)?));
    let file = compound.current()?.file_key();
    let range = ByteRange::nfs4(args.offset, args.length)?;
    let unlocked = outer(&compound.cx.server.state.unlock(compound.cx.request.now, (door, &stateid), &file, range)?);
    compound.progress.current_stateid = Some(unlocked);
    Ok(unlocked)
}
