//! Detects from the replies to WRITEs whether somebody else changed the file, too.
//!
//! WRITEs in flight together may be carried out in any order. The attributes before and after in a reply need not be
//! atomic with the change (RFC 1813 §2.6; a COMPOUND is not atomic either, RFC 8881 §2.10.6.4). One thing holds all the
//! same: the WRITE that is carried out first finds the file as it was known before, unless somebody else changed it in
//! between. When all have ended, the file is as long as they and its earlier length make it.

use client_calls::{FileChange, FileVersion};
use vfs::{Attributes, Timestamp};

/// The WRITEs of a file from the first that is sent while none is in flight to the end of the last.
#[derive(Debug)]
pub(super) struct Series {
    /// The file's version before, if it is known.
    base: Option<FileVersion>,
    /// Whether one of them found this version.
    is_base_found: bool,
    /// Whether some reply does not tell the version before the WRITE.
    is_start_unclear: bool,
    /// Whether some reply does not tell the version after the WRITE.
    is_end_unclear: bool,
    /// The newest version in the replies, and what orders it.
    newest: Option<((Timestamp, u64, u64), FileVersion)>,
}

impl Series {
    pub(super) fn new(base: Option<FileVersion>) -> Series {
        Series { base, is_base_found: false, is_start_unclear: false, is_end_unclear: false, newest: None }
    }

    /// Takes in what the reply to one WRITE tells about the file, if anything.
    pub(super) fn add(&mut self, told: &FileChange) {
        self.is_start_unclear |= told.before.is_none();
        self.is_base_found |= told.before.is_some() && told.before == self.base;
        match &told.after {
            Some(after) => self.see(after),
            None => self.is_end_unclear = true,
        }
    }

    /// Replies overtake one another. The newest is found by ctime, and by change attribute and length where the clock
    /// stood still.
    fn see(&mut self, after: &Attributes) {
        let order = (after.changed, after.change, after.size_bytes);
        if self.newest.is_none_or(|(newest, _)| newest < order) {
            self.newest = Some((order, FileVersion::of(after)));
        }
    }

    /// Notes that the file is changed in yet another way.
    pub(super) fn forget_base(&mut self) {
        self.base = None;
    }

    /// Whether somebody else had changed the file before the first WRITE. `false` while a reply leaves that open.
    pub(super) fn found_another(&self) -> bool {
        self.base.is_some() && !self.is_base_found && !self.is_start_unclear
    }

    /// The file's version now, if every reply told it.
    pub(super) fn end(&self) -> Option<FileVersion> {
        self.newest.filter(|_| !self.is_end_unclear).map(|(_, version)| version)
    }
}
