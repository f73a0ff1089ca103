//! LISTXATTR: the names of all extended attributes.

use vfs::Error;

use super::xattr_name::{self, errno};
use crate::dispatch::{Call, FuseResult};

pub(crate) fn run(call: Call<'_>) -> FuseResult {
    let room = call.arguments().u32()?;
    let identity = call.identity();
    let names = match call.session.fs.list_xattrs(&call.context(&identity), &call.handle()?) {
        // Files that cannot have any, such as symbolic links, have an empty list: RFC 8276 §8.4.3 refuses to list them,
        // listxattr(2) does not.
        Err(Error::WrongKind) => Vec::new(),
        names => names.map_err(errno)?,
    };
    let list: Vec<u8> = names.iter().flat_map(|name| [xattr_name::PREFIX, name, b"\0"].concat()).collect();
    xattr_name::reply(call.output, &list, room)
}
