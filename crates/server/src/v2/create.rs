//! CREATE (RFC 1094 §2.2.10), which makes everything but directories and symbolic links.
//!
//! The RFC only allows regular files. Since SunOS, however, clients also create devices, FIFOs and sockets with it: the
//! mode contains the kind, and the size is the device number. A character device without a number is a FIFO.

use proto::nfs2::{CreateArgs, DirOpOk, Sattr};
use vfs::{Access, Entry, Error, FileKind, NewNode, Place, SetAttributes};

use super::convert;
use super::reply::Nfs2Result;
use crate::make;
use crate::node::{CallContext, Node};

pub(super) fn create(cx: &CallContext<'_>, args: &CreateArgs<'_>) -> Nfs2Result<DirOpOk> {
    let dir = cx.node(&args.place.dir.0)?;
    let _change = dir.begin_change()?;
    let set = convert::set_attributes(&args.attributes)?;
    let made = match special(&args.attributes)? {
        Some(node) => {
            make::make(&dir, dir.attributes(), args.place.name, |dir, place| make_special(dir, place, node, &set))?
        }
        None => take_or_make(&dir, args, &set)?,
    };
    Ok(convert::dir_op_ok(&dir, &made))
}

/// The special file that the mode requests, or `None` for a regular file.
fn special(sattr: &Sattr) -> Nfs2Result<Option<NewNode<'static>>> {
    let Some(kind) = sattr.mode.and_then(convert::kind) else { return Ok(None) };
    Ok(match (kind, sattr.size) {
        (FileKind::Regular, _) => None,
        (FileKind::CharDevice, None) | (FileKind::Fifo, _) => Some(NewNode::Fifo),
        (FileKind::CharDevice, Some(device)) => Some(NewNode::CharDevice(convert::unpack_device(device))),
        (FileKind::BlockDevice, device) => {
            Some(NewNode::BlockDevice(convert::unpack_device(device.unwrap_or_default())))
        }
        (FileKind::Socket, _) => Some(NewNode::Socket),
        (FileKind::Directory | FileKind::Symlink, _) => return Err(Error::Invalid.into()),
    })
}

/// The size is a device number here, so it is not set.
fn make_special(dir: &Node<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Nfs2Result<Entry> {
    make::node(dir, place, node, &SetAttributes { size_bytes: None, ..*set })
}

/// A client that opens a device or a FIFO for writing may send CREATE without its kind. It gets the existing file if it
/// may write to it.
fn take_or_make(dir: &Node<'_>, args: &CreateArgs<'_>, set: &SetAttributes) -> Nfs2Result<Entry> {
    let (name, attributes) = (args.place.name, dir.attributes()?);
    let names_kind = args.attributes.mode.is_some_and(|mode| mode & convert::KIND_MASK != 0);
    dir.require_searchable(&attributes)?;
    if let Some(existing) = dir.existing(dir.place(name)?)?
        && !names_kind
        && is_special(existing.attributes.kind)
    {
        dir.sibling(existing.handle).require_or_own(&existing.attributes, Access::WRITE)?;
        return Ok(existing);
    }
    make::unchecked(dir, Ok(attributes), name, set)
}

fn is_special(kind: FileKind) -> bool {
    matches!(kind, FileKind::BlockDevice | FileKind::CharDevice | FileKind::Fifo | FileKind::Socket)
}
