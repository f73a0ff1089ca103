//! COMMIT (RFC 7530 §16.3, RFC 8881 §18.3). It flushes the whole file, whatever the range.

use proto::nfs4::{CommitArgs, Verifier};

use super::compound::Compound;
use super::failure::OpResult;
use crate::transfer;

pub(super) fn commit(compound: &mut Compound<'_>, args: &CommitArgs) -> OpResult<Verifier> {
    if args.offset.checked_add(u64::from(args.count)).is_none() {
        return Err(proto::nfs4::Status::Inval.into());
    }
    let node = compound.current()?;
    let attributes = node.attributes()?;
    let file = transfer::open_for_write(&node, &attributes)?;
    transfer::sync(&node, &*file)?;
    Ok(node.write_verifier())
}
