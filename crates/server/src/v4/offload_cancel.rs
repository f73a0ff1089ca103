//! OFFLOAD_CANCEL (RFC 7862 §15.8): stops a copy; no byte is written after the reply. It also revokes a COPY_NOTIFY.

use proto::nfs4::OffloadCancelArgs;

use super::compound::Compound;
use super::failure::{Failure, OpResult};

pub(super) fn offload_cancel(compound: &mut Compound<'_>, args: &OffloadCancelArgs) -> OpResult<()> {
    // It waits for the end of the current turn.
    if !compound.cx.request.may_block {
        return Err(Failure::Defer);
    }
    let file = compound.current()?.file_key();
    if compound.cx.server.copy_notices.remove(compound.client()?, &args.stateid, &file) {
        return Ok(());
    }
    let copies = &compound.cx.server.copies;
    let job = copies.find(compound.client()?, &args.stateid, &file)?;
    job.cancel();
    let _turn = job.between_turns();
    copies.remove(&job);
    Ok(())
}
