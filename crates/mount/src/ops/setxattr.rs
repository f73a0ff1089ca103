//! SETXATTR: creates or replaces an extended attribute.

use rustix::io::Errno;
use vfs::{SetXattr, XattrMode};

use super::xattr_name::{self, errno};
use crate::dispatch::{Call, FuseResult};

/// XATTR_CREATE and XATTR_REPLACE of `setxattr(2)`.
const CREATE: u32 = 1;
const REPLACE: u32 = 2;

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let (size, flags) = (arguments.u32()?, arguments.u32()?);
    let name = xattr_name::parse(arguments.text()?)?;
    let value = arguments.bytes(size as usize)?;
    let mode = match flags {
        0 => XattrMode::Either,
        CREATE => XattrMode::Create,
        REPLACE => XattrMode::Replace,
        _ => return Err(Errno::INVAL),
    };
    let identity = call.identity();
    let set = SetXattr { name, value, mode };
    call.session.fs.set_xattr(&call.context(&identity), &call.handle()?, &set).map_err(errno)
}
