//! RECLAIM_COMPLETE (RFC 8881 §18.51).

use proto::nfs4::ReclaimCompleteArgs;

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn reclaim_complete(compound: &mut Compound<'_>, args: &ReclaimCompleteArgs) -> OpResult<()> {
    let client = compound.client()?;
    // It is about the file system of the current file (§18.51.3).
    if args.one_fs {
        compound.current()?;
    }
    Ok(compound.cx.server.state.reclaim_complete(compound.cx.request.now, client, args.one_fs)?)
}
