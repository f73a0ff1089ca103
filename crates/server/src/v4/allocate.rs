//! ALLOCATE and DEALLOCATE (RFC 7862 §15.1, §15.4). Their replies have no verifier by which a client could detect a
//! loss, so both are on stable storage before the reply.

use std::ops::Range;
use std::sync::Arc;

use proto::nfs4::{AllocateArgs, DeallocateArgs, Stateid, Status};
use state::IoKind;
use vfs::OpenFile;

use super::compound::Compound;
use super::failure::OpResult;
use crate::node::Node;
use crate::transfer;

pub(super) fn allocate(compound: &mut Compound<'_>, args: &AllocateArgs) -> OpResult<()> {
    let (node, file) = open(compound, &args.stateid)?;
    let _change = node.announce_change();
    file.allocate(&node.context, range(args.offset, args.length)?)?;
    Ok(transfer::sync(&node, &*file)?)
}

pub(super) fn deallocate(compound: &mut Compound<'_>, args: &DeallocateArgs) -> OpResult<()> {
    let (node, file) = open(compound, &args.stateid)?;
    let _change = node.announce_change();
    file.deallocate(&node.context, range(args.offset, args.length)?)?;
    Ok(transfer::sync(&node, &*file)?)
}

fn open<'n>(compound: &'n Compound<'_>, stateid: &Stateid) -> OpResult<(Node<'n>, Arc<dyn OpenFile>)> {
    let node = compound.current()?;
    compound.check_io(&node, stateid, IoKind::Write)?;
    let file = transfer::open_for_write(&node, &node.attributes()?)?;
    Ok((node, file))
}

fn range(offset: u64, length: u64) -> OpResult<Range<u64>> {
    match offset.checked_add(length) {
        Some(end) if length > 0 => Ok(offset..end),
        _ => Err(Status::Inval.into()),
    }
}
