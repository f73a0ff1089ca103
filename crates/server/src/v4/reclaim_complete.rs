//! RECLAIM_COMPLETE (RFC 8881 §18.51).

use proto::nfs4::ReclaimCompleteArgs;

use super::compound::Compound;
use super::failure::Outcome;

pub(super) fn reclaim_complete(compound: &mut Compound<'_>, args: &ReclaimCompleteArgs) -> Outcome<()> {
    let client = compound.client()?;
    Ok(compound.cx.server.state.reclaim_complete(compound.cx.request.now, client, args.one_fs)?)
}
