//! WRITE (RFC 1094 §2.2.9). All data is on stable storage before the reply, as this version requires.

use proto::nfs2::{Fattr, WriteArgs};
use state::AccessKind;
use vfs::Stability;

use super::convert;
use super::reply::Nfs2Result;
use crate::node::CallContext;
use crate::transfer;

pub(super) fn write(cx: &CallContext<'_>, args: &WriteArgs<'_>) -> Nfs2Result<Fattr> {
    let node = cx.node(&args.file.0)?;
    let end = u64::from(args.offset) + args.data.len() as u64;
    if end > u64::from(u32::MAX) {
        // This version could not read those bytes.
        return Err(vfs::Error::FileTooBig.into());
    }
    node.require_unreserved(AccessKind::Write)?;
    let _change = node.announce_change();
    transfer::defer_if_blocking(&node, Stability::File)?;
    let file = transfer::open_for_write(&node, &node.attributes()?)?;
    let after = transfer::write_stable(&node, &*file, u64::from(args.offset), args.data)?;
    Ok(convert::fattr(&node, &after))
}
