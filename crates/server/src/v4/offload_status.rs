//! OFFLOAD_STATUS (RFC 7862 §15.9): the progress of a copy, and its result.

use proto::nfs4::{OffloadStatusArgs, OffloadStatusOk};

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn offload_status(compound: &mut Compound<'_>, args: &OffloadStatusArgs) -> OpResult<OffloadStatusOk> {
    let file = compound.current()?.file_key();
    let job = compound.cx.server.copies.find(compound.client()?, &args.stateid, &file)?;
    // The end is read before the count, which then no longer grows.
    let complete = job.outcome();
    if complete.is_some() {
        job.set_seen();
    }
    Ok(OffloadStatusOk { count: job.copied_bytes(), complete })
}
