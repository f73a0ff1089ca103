//! Set-id bits in the log that a write clears.
//!
//! The kernel clears the set-user-id bit, and mostly the set-group-id bit, of a file that another user than root
//! writes. Storage may have such data long before a client commits them. A replay that set the bits of an older record
//! again would give the new content another user's rights.

use vfs::{Context, Error, Handle, Result};

use super::{LoggedExport, Pending};
use crate::record::{Change, FileId, Write};

/// Set-user-id and set-group-id.
pub(super) const SET_ID_BITS: u32 = 0o6000;

impl LoggedExport {
    /// Notes the mode that the log has of a file.
    pub(super) fn note_mode(&self, file: &Handle, mode: u32) {
        self.volume.unsynced.set_id(file, mode & SET_ID_BITS != 0);
    }

    /// Makes a durable record that set-id bits are cleared, before a change of data by another user than root. The
    /// caller holds the file.
    pub(super) fn clear_set_id_ahead(&self, cx: &Context<'_>, file: &Handle) -> Result<()> {
        if !self.clears_set_id(cx, file) {
            return Ok(());
        }
        if !cx.may_block {
            return Err(Error::WouldBlock);
        }
        self.settle(&self.append_cleared(cx, file))?;
        self.volume.unsynced.set_id(file, false);
        Ok(())
    }

    /// Makes a change of data for which the file need not be held, after [`LoggedExport::clear_set_id_ahead`].
    pub(super) fn while_set_id_is_clear<T>(
        &self,
        cx: &Context<'_>,
        file: &Handle,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if self.clears_set_id(cx, file) {
            let _held = self.hold_file(cx, file)?;
            self.clear_set_id_ahead(cx, file)?;
            return make();
        }
        let made = make()?;
        if self.clears_set_id(cx, file) {
            // Another caller has set the bits meanwhile, perhaps before the change cleared them.
            self.append_cleared(cx, file);
        }
        Ok(made)
    }

    fn clears_set_id(&self, cx: &Context<'_>, file: &Handle) -> bool {
        !cx.caller.is_root() && self.volume.unsynced.has_set_id(file)
    }

    /// Appends a write of nothing, which clears the bits.
    fn append_cleared(&self, cx: &Context<'_>, file: &Handle) -> Pending {
        let write = Write { file: FileId(*file), offset_bytes: 0, by_root: false };
        self.append(&Context { ticket: &[], ..*cx }, Change::Write(write), &[])
    }
}
