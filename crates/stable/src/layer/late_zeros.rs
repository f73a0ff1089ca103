//! Zeros behind the old end of an extended file.
//!
//! btrfs may store the new size of a file before these zeros. After a power failure the file would have the bytes there
//! that it had before it was cut, which may be long ago. So the log gets them with the change that extends the file.

use std::ops::Range;

use vfs::{Attributes, Context, Handle, Result};

use super::{LoggedExport, ns};
use crate::record::{Change, FileId, Write};

impl LoggedExport {
    /// The size of a file with these attributes, before a change that may extend it; only where zeros may come late.
    pub(super) fn old_end(&self, attributes: impl FnOnce() -> Result<Attributes>) -> Result<Option<u64>> {
        if self.late_zeros_bytes == 0 { Ok(None) } else { Ok(Some(attributes()?.size_bytes)) }
    }

    /// The zeros that may come late, between the old end of a file and a byte that is written or its new end.
    pub(super) fn late_zeros(&self, old_end: Option<u64>, before_bytes: u64) -> Option<Range<u64>> {
        let old_end = old_end?;
        let block_end = old_end.checked_next_multiple_of(self.late_zeros_bytes.into())?;
        Some(old_end..block_end.min(before_bytes)).filter(|range_bytes| !range_bytes.is_empty())
    }

    /// Appends the zeros behind the old end of a file that got a new size; the caller holds the file.
    pub(super) fn append_late_zeros(&self, cx: &Context<'_>, file: &Handle, old_end: Option<u64>, after: &Attributes) {
        let Some(range_bytes) = self.late_zeros(old_end, after.size_bytes) else { return };
        let write = Write { file: FileId(*file), offset_bytes: range_bytes.start, by_root: cx.caller.is_root() };
        let zeros = vec![0; (range_bytes.end - range_bytes.start) as usize];
        self.append_at(&Context { ticket: &[], ..*cx }, ns(after.modified), Change::Write(write), &zeros);
    }
}
