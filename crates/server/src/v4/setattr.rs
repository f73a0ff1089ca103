//! SETATTR (RFC 7530 §16.32, RFC 8881 §18.30). Every reply contains the mask of what was set, even a failure.

use proto::nfs4::{Bitmap, SetattrArgs};
use state::IoKind;

use super::compound::Compound;
use super::failure::OpResult;
use super::set::{For, NewAttributes};

pub(super) fn setattr(compound: &mut Compound<'_>, args: &SetattrArgs<'_>) -> OpResult<Bitmap> {
    let node = compound.current()?;
    let _change = node.begin_change()?;
    let before = *compound.current_attributes()?;
    let new = NewAttributes::parse(compound, &args.attributes, For { node: &node, kind: before.kind })?;
    if new.set.size_bytes.is_some() {
        compound.check_io(&node, &args.stateid, IoKind::Write)?;
    }
    compound.attributes_after = new.apply(&node, &before)?;
    Ok(new.applied_to(before.kind))
}
