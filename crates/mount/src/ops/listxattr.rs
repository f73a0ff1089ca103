//! LISTXATTR: the names of all extended attributes.

use super::xattr_name::{self, errno};
use crate::dispatch::{Call, Outcome};

pub(crate) fn run(call: Call<'_>) -> Outcome {
    let room = call.arguments().u32()?;
    let identity = call.identity();
    let names = call.session.fs.list_xattrs(&call.context(&identity), &call.handle()?).map_err(errno)?;
    let list: Vec<u8> = names.iter().flat_map(|name| [xattr_name::PREFIX, name, b"\0"].concat()).collect();
    xattr_name::reply(call.output, &list, room)
}
