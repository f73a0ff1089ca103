//! SETATTR (RFC 7530 §16.32, RFC 8881 §18.30). The mask of what was set stands in every reply, also in that of a failure.

use proto::nfs4::{Bitmap, SetattrArgs};
use state::IoKind;

use super::compound::Compound;
use super::failure::Outcome;
use super::set::NewAttributes;
use crate::set_attributes;

pub(super) fn setattr(compound: &mut Compound<'_>, args: &SetattrArgs<'_>) -> Outcome<Bitmap> {
    let new = NewAttributes::parse(&args.attributes, compound.progress.minor)?;
    let node = compound.current()?;
    let before = node.attributes()?;
    if new.set.size_bytes.is_some() {
        compound.check_io(&node, &args.stateid, IoKind::Write)?;
    }
    set_attributes::set(&node, &before, &new.set)?;
    Ok(new.mask)
}
