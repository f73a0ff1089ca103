//! Lists a directory (all protocol versions): permissions, `.` and `..`, cookies, and the end of a full reply.

use std::ops::ControlFlow;

use vfs::{Access, Attributes, Detail, DirEntry, Entry, Error, FileKind, Listing, ReadDir};

use crate::cookies;
use crate::fault::Fault;
use crate::node::Node;

const COOKIE_OF_SELF: u64 = 1;
const COOKIE_OF_PARENT: u64 = 2;

/// The requested part of a directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// The cookie of the last entry that the client has, or 0.
    pub(crate) cookie: u64,
    /// The amount of detail for each entry.
    pub(crate) detail: Detail,
}

/// The amount of detail that the caller may have for the entries of `dir`: their handles and attributes require search
/// permission, as LOOKUP does, and names require read permission.
pub(crate) fn permitted(dir: &Node<'_>, attributes: &Attributes, detail: Detail) -> vfs::Result<Detail> {
    let wanted = if detail == Detail::Entries { Access::READ | Access::EXECUTE } else { Access::READ };
    let granted = dir.fs().access(&dir.context, &dir.handle, attributes, wanted)?;
    match granted {
        _ if granted.contains(wanted) => Ok(detail),
        Access::READ => Ok(Detail::Names),
        _ => Err(Error::AccessDenied),
    }
}

/// Passes the entries of `dir` after a cookie to `each`, with wire cookies, until it breaks. Returns whether the
/// listing is complete.
pub(crate) fn list(
    dir: &Node<'_>,
    attributes: &Attributes,
    mut part: Part,
    each: &mut dyn FnMut(DirEntry<'_>) -> ControlFlow<()>,
) -> Result<bool, Fault> {
    if attributes.kind != FileKind::Directory {
        return Err(Error::NotDirectory.into());
    }
    part.detail = permitted(dir, attributes, part.detail)?;
    if part.cookie < COOKIE_OF_PARENT && give_dots(dir, attributes, part, each)?.is_break() {
        return Ok(false);
    }
    let after = cookies::from_wire(dir, part.cookie)?;
    let list = ReadDir { dir: &dir.handle, after, detail: part.detail };
    let listing = dir.fs().read_dir(&dir.context, list, &mut |entry| {
        each(DirEntry { cookie: cookies::to_wire(dir, entry.cookie), ..entry })
    })?;
    Ok(listing == Listing::Complete)
}

fn give_dots(
    dir: &Node<'_>,
    attributes: &Attributes,
    part: Part,
    each: &mut dyn FnMut(DirEntry<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Fault> {
    let itself = Entry { handle: dir.handle, attributes: *attributes };
    let parent = match dir.fs().parent(&dir.context, &dir.handle) {
        // Another server shows no parent to a caller who may only read the directory, and so gets names alone.
        Err(Error::AccessDenied) if part.detail != Detail::Entries => itself,
        parent => parent?,
    };
    let dots = [(&b"."[..], COOKIE_OF_SELF, itself), (b"..", COOKIE_OF_PARENT, parent)];
    for (name, cookie, entry) in dots {
        if cookie <= part.cookie {
            continue;
        }
        let fileid = entry.attributes.fileid;
        let kind = Some(entry.attributes.kind);
        let entry = (part.detail == Detail::Entries).then_some(entry);
        if each(DirEntry { name, fileid, cookie, kind, entry }).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
