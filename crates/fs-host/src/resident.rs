//! Open files, and which of their bytes are in memory: those can be sent by `sendfile` on a thread that must not wait.
//!
//! cachestat(2) counts the pages of a range in the page cache, but a page that is being read from storage counts too.
//! So a file whose bytes were read from storage within the last [`SETTLE_MS`] counts as not resident, and its reads go
//! through `RWF_NOWAIT`, which tells such pages apart. What remains is a page that another process reads, or that is
//! evicted between the question and the send: a loop then waits for one read of the device.

use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use rustix::fs::Advice;
use vfs::SendableFile;

use crate::sys;
use crate::volume::{CacheKind, HostVolume};

/// For how long after a read from storage pages may still be in flight, in milliseconds.
const SETTLE_MS: u64 = 50;

/// Evictions begin and end at multiples of this: Linux keeps a folio, which may have so many bytes, unless all of it is
/// evicted.
const EVICTED_BYTES: u64 = 2 << 20;

/// Cleared when the kernel has no cachestat(2) (before Linux 6.5), or a sandbox forbids it.
static MAY_ASK: AtomicBool = AtomicBool::new(true);

/// An open regular file, and what is known of its pages.
pub(crate) struct ResidentFile {
    fd: OwnedFd,
    storage: u64,
    cache: CacheKind,
    /// When bytes were last read from storage, in milliseconds since the first question; 0 for never.
    last_read_ms: AtomicU64,
}

impl ResidentFile {
    pub(crate) fn new(fd: OwnedFd, volume: &HostVolume) -> ResidentFile {
        ResidentFile { fd, storage: volume.device, cache: volume.cache_kind(), last_read_ms: AtomicU64::new(0) }
    }

    /// Where its bytes are.
    pub(crate) fn cache_kind(&self) -> CacheKind {
        self.cache
    }

    /// Takes note that bytes were read from storage, or are being read.
    pub(crate) fn note_storage_read(&self) {
        if self.cache == CacheKind::Pages {
            self.last_read_ms.store(now_ms(), Ordering::Relaxed);
        }
    }

    fn is_settled(&self) -> bool {
        let last = self.last_read_ms.load(Ordering::Relaxed);
        last == 0 || now_ms() >= last + SETTLE_MS
    }

    /// Evicts a range from the page cache, and returns whether nothing of it is left there. Memory that is all there is
    /// of a file counts as storage.
    pub(crate) fn evict(&self, range_bytes: &Range<u64>) -> bool {
        match self.cache {
            CacheKind::Memory => true,
            CacheKind::Unknown => false,
            CacheKind::Pages => {
                let (start, end) = (range_bytes.start, range_bytes.end);
                let from = start - start % EVICTED_BYTES;
                let length =
                    NonZeroU64::new(end.saturating_add(EVICTED_BYTES - 1) / EVICTED_BYTES * EVICTED_BYTES - from);
                rustix::fs::fadvise(&self.fd, from, length, Advice::DontNeed).is_ok()
                    && sys::cached_pages(self.fd.as_fd(), start, end - start).is_ok_and(|cached| cached == 0)
            }
        }
    }

    fn has_all_pages(&self, offset_bytes: u64, length: usize) -> bool {
        if !MAY_ASK.load(Ordering::Relaxed) {
            return false;
        }
        match sys::cached_pages(self.fd.as_fd(), offset_bytes, length as u64) {
            Ok(cached) => cached >= pages(offset_bytes, length as u64),
            Err(error) => {
                // Another error is of this file alone: Linux tells only who may write to a file about its pages.
                if matches!(error.raw_os_error(), Some(libc::ENOSYS)) {
                    MAY_ASK.store(false, Ordering::Relaxed);
                }
                false
            }
        }
    }
}

impl AsFd for ResidentFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl SendableFile for ResidentFile {
    fn is_resident(&self, offset_bytes: u64, length: usize) -> bool {
        match self.cache {
            CacheKind::Memory => true,
            CacheKind::Pages => self.is_settled() && self.has_all_pages(offset_bytes, length),
            CacheKind::Unknown => false,
        }
    }

    fn storage(&self) -> u64 {
        self.storage
    }
}

/// How many pages hold the bytes.
fn pages(offset_bytes: u64, length: u64) -> u64 {
    let page = rustix::param::page_size() as u64;
    let end = offset_bytes.saturating_add(length);
    if length == 0 { 0 } else { (end - 1) / page - offset_bytes / page + 1 }
}

/// Milliseconds of a clock of this process; never 0.
fn now_ms() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_millis() as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_those_that_the_bytes_touch() {
        let page = rustix::param::page_size() as u64;
        let counted = [(0, 0), (0, 1), (0, page), (0, page + 1), (page - 1, 2), (page, page), (page / 2, page)];
        assert_eq!(counted.map(|(offset, length)| pages(offset, length)), [0, 1, 1, 2, 2, 1, 2]);
    }
}
