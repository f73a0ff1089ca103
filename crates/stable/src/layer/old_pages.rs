//! Pages of memory from before the server's start that storage may lack.
//!
//! When storage has failed, the kernel keeps pages that it could not write, and ext4 takes their blocks for written
//! from then on: what is written to such a page again is zeros after a power failure. A replay evicts the pages of
//! files that the log has data of. Those of all others are evicted before the first write: clients write UNSTABLE data
//! again, which no log has.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use vfs::{Context, Handle, OpenFile};

/// How many files are known to have no such pages. When there are more, they are evicted again.
const MAX_KNOWN: usize = 1 << 16;

/// Whether there may be such pages, and of which files there are none.
#[derive(Default)]
pub(crate) struct OldPages {
    are_doubtful: AtomicBool,
    evicted: Mutex<HashSet<Handle>>,
}

impl OldPages {
    /// Storage has failed while the memory had the exports' files.
    pub(crate) fn doubt(&self) {
        self.are_doubtful.store(true, Ordering::Relaxed);
    }

    pub(super) fn are_doubtful(&self) -> bool {
        self.are_doubtful.load(Ordering::Relaxed)
    }

    /// Evicts those of a file that is about to be written. Whoever opens a file of the export for writing meanwhile
    /// waits.
    pub(super) fn evict(&self, file: &Handle, open: &dyn OpenFile) {
        let mut evicted = self.evicted.lock().unwrap_or_else(PoisonError::into_inner);
        if evicted.contains(file) {
            return;
        }
        let size_bytes = open.attributes(&Context::ROOT).map_or(u64::MAX, |now| now.size_bytes);
        let evict = || size_bytes == 0 || open.evict(0..size_bytes);
        // Another program may have written to the file.
        let is_evicted = evict() || open.sync(&Context::ROOT).is_ok() && evict();
        if !is_evicted {
            tracing::warn!(
                inode = open.attributes(&Context::ROOT).map_or(0, |now| now.fileid),
                "memory keeps pages of a file from before a failure of the disk, as when a program has mapped the file: \
                 what is written to them may be lost at a power failure; end the program, and write the file again"
            );
        }
        if evicted.len() == MAX_KNOWN {
            evicted.clear();
        }
        evicted.insert(*file);
    }
}
