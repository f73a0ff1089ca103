//! GETXATTR: the value of an extended attribute.

use rustix::io::Errno;

use super::xattr_name::{self, errno};
use crate::dispatch::{Call, FuseResult};

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let mut arguments = call.arguments();
    let room = arguments.u32()?;
    arguments.u32()?;
    let name = xattr_name::parse(arguments.text()?)?;
    let identity = call.identity();
    let value = call.session.fs.get_xattr(&call.context(&identity), &call.handle()?, name).map_err(errno)?;
    xattr_name::reply(call.output, &value.ok_or(Errno::NODATA)?, room)
}
