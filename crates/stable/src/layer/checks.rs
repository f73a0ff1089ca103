//! Checks before a removal or rename is logged.
//!
//! The file system inside makes the same checks. But a durable record of an impossible change would have to be
//! cancelled, and the machine may stop before that.

use std::ops::ControlFlow;

use vfs::{Context, Detail, Entry, Error, FileKind, Handle, ReadDir, Result};

use super::LoggedExport;

/// The maximum depth of a directory.
const MAX_DEPTH: u32 = 4096;

/// The kind of file that a name must lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    File,
    Directory,
}

impl LoggedExport {
    /// Checks whether a name may be removed.
    pub(super) fn check_removal(&self, cx: &Context<'_>, entry: &Entry, what: Removal) -> Result<()> {
        match (what, entry.attributes.kind) {
            (Removal::File, FileKind::Directory) => Err(Error::IsDirectory),
            (Removal::Directory, FileKind::Directory) => self.check_empty(cx, &entry.handle),
            (Removal::Directory, _) => Err(Error::NotDirectory),
            (Removal::File, _) => Ok(()),
        }
    }

    /// Checks whether `moved` may be renamed, over `replaced` if that exists, and into `new_dir` if that is another
    /// directory. Handles are those of the file system inside.
    pub(super) fn check_rename(
        &self,
        cx: &Context<'_>,
        moved: &Entry,
        replaced: Option<&Entry>,
        new_dir: Option<Handle>,
    ) -> Result<()> {
        let is_dir = |entry: &Entry| entry.attributes.kind == FileKind::Directory;
        if let Some(replaced) = replaced {
            match (is_dir(moved), is_dir(replaced)) {
                (true, false) => return Err(Error::NotDirectory),
                (false, true) => return Err(Error::IsDirectory),
                (true, true) => self.check_empty(cx, &replaced.handle)?,
                (false, false) => {}
            }
        }
        match new_dir {
            Some(dir) if is_dir(moved) => self.check_not_below(cx, &moved.handle, dir),
            _ => Ok(()),
        }
    }

    fn check_empty(&self, cx: &Context<'_>, dir: &Handle) -> Result<()> {
        let mut is_empty = true;
        let mut each = |_: vfs::DirEntry<'_>| {
            is_empty = false;
            ControlFlow::Break(())
        };
        self.inner.read_dir(cx, ReadDir { dir, after: 0, detail: Detail::Names }, &mut each)?;
        if is_empty { Ok(()) } else { Err(Error::NotEmpty) }
    }

    /// Refuses to move a directory into itself.
    fn check_not_below(&self, cx: &Context<'_>, moved: &Handle, mut dir: Handle) -> Result<()> {
        let root = self.inner.root();
        for _ in 0..MAX_DEPTH {
            if dir == *moved {
                return Err(Error::Invalid);
            }
            if dir == root {
                return Ok(());
            }
            dir = self.inner.parent(cx, &dir)?.handle;
        }
        Err(Error::Invalid)
    }
}
