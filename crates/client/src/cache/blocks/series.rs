//! Whether what replies to WRITEs tell of a file is explained by those WRITEs alone, or somebody else changed the file, too.
//!
//! WRITEs that are under way together may be carried out in any order, and what a reply tells of the file before and after need not be
//! taken in one moment with the change itself (RFC 1813 §2.6; a COMPOUND is not atomic either, RFC 8881 §2.10.6.4). One thing holds all
//! the same: whichever WRITE was carried out first found the file as it was known before the first was sent, if nobody else changed it in
//! between. And when all have ended, the file is as long as they and what was known before make it.

use vfs::{Attributes, Timestamp};

use crate::types::{FileChange, FileVersion};

/// The WRITEs of a file from the first that is sent while none is under way to the end of the last.
#[derive(Debug)]
pub(super) struct Series {
    /// What the file was before, as far as that is known.
    base: Option<FileVersion>,
    /// Whether one of them found it like that.
    is_base_found: bool,
    /// Whether some reply does not say what the WRITE found.
    is_start_unclear: bool,
    /// Whether some reply does not say what the file was like after.
    is_end_unclear: bool,
    /// What the file was last seen like.
    newest: Option<((Timestamp, u64, u64), FileVersion)>,
}

impl Series {
    pub(super) fn new(base: Option<FileVersion>) -> Series {
        Series { base, is_base_found: false, is_start_unclear: false, is_end_unclear: false, newest: None }
    }

    /// Takes in what the reply to one WRITE tells, or that it tells nothing.
    pub(super) fn add(&mut self, told: &FileChange) {
        self.is_start_unclear |= told.before.is_none();
        self.is_base_found |= told.before.is_some() && told.before == self.base;
        match &told.after {
            Some(after) => self.see(after),
            None => self.is_end_unclear = true,
        }
    }

    /// Replies overtake one another: what the file was like last, its own times say, and its length where the clock stood still.
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

    /// Whether the file was another one already when the first WRITE was carried out. Of what is unclear nobody can tell.
    pub(super) fn found_another(&self) -> bool {
        self.base.is_some() && !self.is_base_found && !self.is_start_unclear
    }

    /// What the file is now, if all replies together tell.
    pub(super) fn end(&self) -> Option<FileVersion> {
        self.newest.filter(|_| !self.is_end_unclear).map(|(_, version)| version)
    }
}
