//! REMOVEXATTR (RFC 8276 §8.4.4).

use proto::nfs4::{ChangeInfo, RemovexattrArgs};
use vfs::Access;

use super::change::DirChange;
use super::compound::Compound;
use super::failure::OpResult;
use super::xattr;

pub(super) fn removexattr(compound: &mut Compound<'_>, args: &RemovexattrArgs<'_>) -> OpResult<ChangeInfo> {
    let name = xattr::name(args.name)?;
    let node = xattr::node(compound, Access::WRITE)?;
    node.require_undelegated()?;
    let change = DirChange::begin(&node)?;
    node.fs().remove_xattr(&node.context, &node.handle, name).map_err(xattr::refused)?;
    Ok(change.info(&node))
}
