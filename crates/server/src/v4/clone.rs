//! CLONE (RFC 7862 §15.13): the current file shares a range of the saved one. The reply has no verifier, so the result
//! is on stable storage before it.

use proto::nfs4::CloneArgs;
use vfs::CopyRange;

use super::compound::Compound;
use super::failure::OpResult;
use super::source::CopyPair;
use crate::transfer;

pub(super) fn clone(compound: &mut Compound<'_>, args: &CloneArgs) -> OpResult<()> {
    let pair = CopyPair::open(compound, &args.source_stateid, &args.destination_stateid)?;
    let range = pair.range(args.source_offset, args.destination_offset, args.count)?;
    if range.length_bytes > 0 {
        // A count of 0 is passed on. In a file of 2⁶³ - 1 bytes, Linux can clone "everything", but this number of bytes
        // overflows when rounded up to whole blocks.
        let range = CopyRange { length_bytes: args.count, ..range };
        pair.to.clone_range(&pair.destination.context, &*pair.from, range)?;
    }
    Ok(transfer::sync(&pair.destination, &*pair.to)?)
}
