//! SYMLINK (RFC 1094 §2.2.14). UNIX servers ignore its attributes, as the RFC notes; so does this one.

use proto::nfs2::{MAX_PATH_BYTES, SymlinkArgs};
use vfs::{NewNode, SetAttributes};

use super::reply::Nfs2Result;
use crate::make;
use crate::node::CallContext;

pub(super) fn symlink(cx: &CallContext<'_>, args: &SymlinkArgs<'_>) -> Nfs2Result<()> {
    if args.target.len() > MAX_PATH_BYTES {
        return Err(vfs::Error::NameTooLong.into());
    }
    let dir = cx.node(&args.place.dir.0)?;
    let _change = dir.begin_change()?;
    let new = NewNode::Symlink(args.target);
    make::make(&dir, dir.attributes(), args.place.name, |dir, place| {
        make::node(dir, place, new, &SetAttributes::default())
    })?;
    Ok(())
}
