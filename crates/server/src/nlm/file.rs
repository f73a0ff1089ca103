//! The file that a lock is for, and whether the caller may lock it.

use state::FileKey;
use vfs::{Access, Error, FileKind, permission};

use super::refusal::Refusal;
use crate::node::CallContext;

/// What the caller is going to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Keep writers out, or look.
    Shared,
    /// Keep everybody out.
    Exclusive,
}

/// The file of a handle, if the caller may lock it.
///
/// Who may read or write it may lock it, and its owner may in any case, as with READ and WRITE (RFC 1813 §4.4): how it was
/// opened is not known here. On a read-only export nothing is locked exclusively, as it cannot be opened for writing there.
pub(super) fn lockable(cx: &CallContext<'_>, handle: &[u8], purpose: Purpose) -> Result<FileKey, Refusal> {
    let node = cx.node(handle)?;
    let attributes = node.attributes()?;
    if attributes.kind != FileKind::Regular {
        return Err(Error::WrongKind.into());
    }
    if purpose == Purpose::Exclusive {
        node.require_writable()?;
    }
    if !permission::is_owner(&attributes, &node.context.caller) {
        let wanted = Access::READ | Access::WRITE;
        if node.fs().access(&node.context, &node.handle, &attributes, wanted)? == Access::NONE {
            return Err(Error::AccessDenied.into());
        }
    }
    Ok(node.file_key())
}

/// The file of a handle, for who gives up what he holds: whatever became of the file and of his permissions.
pub(super) fn locked(cx: &CallContext<'_>, handle: &[u8]) -> Result<FileKey, Refusal> {
    let (exported, node) = cx.exports.resolve(handle).map_err(crate::fault::Fault::from)?;
    Ok(exported.file_key(node))
}
