//! GETXATTR (RFC 8276 §8.4.1).

use buffer::Output;
use proto::nfs4::{GetxattrArgs, GetxattrOk, Status};
use vfs::Access;
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::failure::OpResult;
use super::xattr;

pub(super) fn run(compound: &mut Compound<'_>, args: &GetxattrArgs<'_>, output: &mut Output) -> OpResult<()> {
    let name = xattr::name(args.name)?;
    let node = xattr::node(compound, Access::READ)?;
    let value = node.fs().get_xattr(&node.context, &node.handle, name)?.ok_or(Status::NoXattr)?;
    GetxattrOk { value: &value }.encode(&mut Encoder::new(&mut output.bytes));
    Ok(())
}
