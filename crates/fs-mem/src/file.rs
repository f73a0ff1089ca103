//! Open files.

use std::ops::Range;
use std::sync::Arc;

use vfs::{Attributes, Context, Error, OpenFile, OpenMode, Result, Seek, Stability, Written};

use crate::node::{Content, MemNode, NodeState};
use crate::pages::Pages;
use crate::space::Supply;

/// An open regular file. It keeps its node alive after the last name is removed.
pub(crate) struct MemFile {
    node: Arc<MemNode>,
    mode: OpenMode,
}

impl MemFile {
    pub(crate) fn open(node: Arc<MemNode>, mode: OpenMode) -> Result<MemFile> {
        match node.read().content {
            Content::Regular(_) => {}
            Content::Directory(_) => return Err(Error::IsDirectory),
            Content::Symlink(_) | Content::Special => return Err(Error::WrongKind),
        }
        Ok(MemFile { node, mode })
    }

    /// Changes the pages with `change`, and updates the attributes as for a write.
    fn change_pages(&self, cx: &Context<'_>, change: impl FnOnce(&mut Pages, &Supply) -> Result<()>) -> Result<()> {
        if self.mode == OpenMode::Read {
            return Err(Error::AccessDenied);
        }
        let mut state = self.node.write();
        let Content::Regular(pages) = &mut state.content else { return Err(Error::WrongKind) };
        change(pages, self.node.volume().bytes())?;
        state.drop_set_ids(&cx.caller, self.node.kind());
        state.modify(self.node.volume().now());
        Ok(())
    }

    /// Updates the access time as Linux's `relatime` does, only on the first read after a change, so that reads share a
    /// lock.
    fn note_access(&self) {
        let now = self.node.volume().now();
        self.node.write().accessed = now;
    }
}

impl OpenFile for MemFile {
    fn read_at(&self, _cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        let state = self.node.read();
        let count = pages(&state)?.read(offset_bytes, into);
        let is_first_access = state.accessed <= state.changed;
        drop(state);
        if is_first_access && count > 0 {
            self.note_access();
        }
        Ok(count)
    }

    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        if self.mode == OpenMode::Read {
            return Err(Error::AccessDenied);
        }
        if data.is_empty() {
            return Ok(Written { count: 0, stability });
        }
        let mut state = self.node.write();
        let Content::Regular(pages) = &mut state.content else { return Err(Error::WrongKind) };
        let count = pages.write(offset_bytes, data, self.node.volume().bytes())?;
        state.drop_set_ids(&cx.caller, self.node.kind());
        state.modify(self.node.volume().now());
        Ok(Written { count, stability })
    }

    /// There is no storage to flush to.
    fn sync(&self, _cx: &Context<'_>) -> Result<()> {
        Ok(())
    }

    fn seek(&self, _cx: &Context<'_>, offset_bytes: u64, what: Seek) -> Result<Option<u64>> {
        Ok(pages(&self.node.read())?.seek(offset_bytes, what))
    }

    fn allocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        self.change_pages(cx, |pages, supply| pages.allocate(&range_bytes, supply))
    }

    fn deallocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        self.change_pages(cx, |pages, supply| {
            pages.deallocate(&range_bytes, supply);
            Ok(())
        })
    }

    fn attributes(&self, _cx: &Context<'_>) -> Result<Attributes> {
        Ok(self.node.attributes())
    }
}

fn pages(state: &NodeState) -> Result<&Pages> {
    match &state.content {
        Content::Regular(pages) => Ok(pages),
        _ => Err(Error::WrongKind),
    }
}
