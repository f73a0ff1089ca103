//! SETXATTR (RFC 8276 §8.4.2).

use proto::nfs4::{ChangeInfo, MAX_XATTR_BYTES, SetxattrArgs, SetxattrOption, Status};
use vfs::{Access, SetXattr, XattrMode};

use super::change::DirChange;
use super::compound::Compound;
use super::failure::OpResult;
use super::xattr;

pub(super) fn setxattr(compound: &mut Compound<'_>, args: &SetxattrArgs<'_>) -> OpResult<ChangeInfo> {
    if args.value.len() > MAX_XATTR_BYTES {
        return Err(Status::Xattr2Big.into());
    }
    let mode = match args.option {
        SetxattrOption::Either => XattrMode::Either,
        SetxattrOption::Create => XattrMode::Create,
        SetxattrOption::Replace => XattrMode::Replace,
    };
    let set = SetXattr { name: xattr::name(args.name)?, value: args.value, mode };
    let node = xattr::node(compound, Access::WRITE)?;
    node.require_undelegated()?;
    let change = DirChange::begin(&node)?;
    node.fs().set_xattr(&node.context, &node.handle, &set).map_err(xattr::refused)?;
    Ok(change.info(&node))
}
