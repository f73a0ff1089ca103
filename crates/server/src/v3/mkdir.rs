//! MKDIR (RFC 1813 §3.3.9).

use proto::nfs3::{CreateOk, MkdirArgs, WccData};
use vfs::NewNode;

use super::{Outcome, make};
use crate::node::CallContext;

pub(super) fn mkdir(cx: &CallContext<'_>, args: &MkdirArgs<'_>) -> Outcome<CreateOk, WccData> {
    make::make(cx, &args.place, |dir, place| {
        let set = make::first_attributes(dir, &args.attributes)?;
        Ok(dir.fs().make_node(&dir.context, place, NewNode::Directory, &set)?)
    })
}
