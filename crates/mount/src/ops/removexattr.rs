//! REMOVEXATTR: removes an extended attribute.

use super::xattr_name::{self, errno};
use crate::dispatch::{Call, FuseResult};

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let name = xattr_name::parse(call.arguments().text()?)?;
    let identity = call.identity();
    call.session.fs.remove_xattr(&call.context(&identity), &call.handle()?, name).map_err(errno)
}
