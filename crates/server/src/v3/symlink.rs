//! SYMLINK (RFC 1813 §3.3.10).

use proto::nfs3::{CreateOk, SymlinkArgs, WccData};
use vfs::NewNode;

use super::{Outcome, make};
use crate::node::CallContext;

pub(super) fn symlink(cx: &CallContext<'_>, args: &SymlinkArgs<'_>) -> Outcome<CreateOk, WccData> {
    make::make(cx, &args.place, |dir, place| {
        if args.target.is_empty() || args.target.contains(&0) {
            return Err(vfs::Error::Invalid.into());
        }
        let set = make::first_attributes(dir, &args.attributes)?;
        Ok(dir.fs().make_node(&dir.context, place, NewNode::Symlink(args.target), &set)?)
    })
}
