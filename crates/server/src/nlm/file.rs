//! The file of a lock request, and whether the caller may lock it.

use state::FileKey;
use vfs::{Access, Error, FileKind, permission};

use super::refusal::Refusal;
use crate::node::CallContext;

/// The purpose of a lock request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A shared lock, or a test.
    Shared,
    /// An exclusive lock.
    Exclusive,
}

/// The file of a handle, if the caller may lock it.
///
/// The owner may lock it, and so may anyone who may read or write it. The server does not know how it was opened, as
/// with READ and WRITE (RFC 1813 §4.4). A read-only export grants no exclusive locks, since its files cannot be open
/// for writing.
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

/// The file of a handle, for releasing locks: permissions and the file's existence do not matter.
pub(super) fn locked(cx: &CallContext<'_>, handle: &[u8]) -> Result<FileKey, Refusal> {
    let (exported, node) = cx.exports.resolve(handle).map_err(crate::fault::Fault::from)?;
    Ok(exported.file_key(node))
}
