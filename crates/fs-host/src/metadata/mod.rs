//! What is known of files and directories from earlier calls, and when it still holds.
//!
//! Nothing here is ever valid because of its age. Each use is proved by a number that the kernel keeps for the file,
//! fetched during the call that uses it:
//!
//! - `known.rs`: a file's **handle**, by its inode number and the time when the inode was made (btime). While the inode
//!   exists nothing changes the two, and a later inode with the same number has a later time.
//! - `listings.rs`: a directory's **names**, by its change time (ctime). Every change of a directory's names sets it
//!   before anybody can see the change.
//!
//! A kernel clock ticks slowly, so a time proves something only if the clock had moved on before the first look
//! ([`Moment`]). This works on the file systems of [`HostVolume::keeps_times`](crate::volume::HostVolume::keeps_times).
//! Attributes are never kept: nothing tells that they have changed ([decision
//! 21](../../../../docs/decisions/0021-names-are-proved-by-times-not-by-notices.md)).

mod chunk;
mod known;
mod listings;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use vfs::Timestamp;

use crate::sys;

pub(crate) use chunk::{ChunkEntry, DirChunk};
pub(crate) use known::{KnownFile, KnownFiles};
pub(crate) use listings::{DirState, Listings};

/// How many new files are seen between two looks at the clock.
const FILES_PER_READ: usize = 512;

const NANOSECONDS: i64 = 1_000_000_000;

/// The memory for names and handles of directories of this machine, for all exports that share it.
#[derive(Debug)]
pub struct MetadataMemory {
    max_bytes: usize,
    used_bytes: AtomicUsize,
}

/// Memory that was taken, and is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct MemoryShare {
    memory: Arc<MetadataMemory>,
    bytes: usize,
}

impl MetadataMemory {
    /// What is taken unless something else is said.
    pub const DEFAULT_BYTES: usize = 64 << 20;

    /// Lets names and handles take so many bytes at the most; with 0 none are kept.
    pub fn new(max_bytes: usize) -> MetadataMemory {
        MetadataMemory { max_bytes, used_bytes: AtomicUsize::new(0) }
    }

    /// Whether anything may be kept.
    pub(crate) fn is_on(&self) -> bool {
        self.max_bytes > 0
    }

    /// How much is taken now.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }
}

impl Default for MetadataMemory {
    fn default() -> Self {
        MetadataMemory::new(MetadataMemory::DEFAULT_BYTES)
    }
}

impl MemoryShare {
    /// An empty share.
    pub(crate) fn none(memory: &Arc<MetadataMemory>) -> MemoryShare {
        MemoryShare { memory: Arc::clone(memory), bytes: 0 }
    }

    /// An empty share of the same memory.
    pub(crate) fn empty(&self) -> MemoryShare {
        MemoryShare::none(&self.memory)
    }

    /// Takes more memory, if there is any left.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let used = self.memory.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        if used + bytes > self.memory.max_bytes {
            self.memory.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        self.bytes += bytes;
        true
    }

    /// Gives back a part of it.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.bytes, "{bytes} of {} bytes are given back", self.bytes);
        self.bytes -= bytes;
        self.memory.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.memory.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The clock that file times are taken from, read only where something is kept.
#[derive(Debug)]
pub(crate) struct MetadataClock {
    /// What it last showed, in nanoseconds.
    last: AtomicI64,
    /// How many files were seen that were newer than that.
    newer: AtomicUsize,
}

/// A time that the clock showed before a look at a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(Timestamp);

impl MetadataClock {
    /// Reads the clock.
    pub(crate) fn new() -> MetadataClock {
        let clock = MetadataClock { last: AtomicI64::new(0), newer: AtomicUsize::new(0) };
        clock.read();
        clock
    }

    /// A moment before this call.
    pub(crate) fn earlier(&self) -> Moment {
        let last = self.last.load(Ordering::Acquire);
        let nanoseconds = u32::try_from(last.rem_euclid(NANOSECONDS)).unwrap_or(0);
        Moment(Timestamp { seconds: last.div_euclid(NANOSECONDS), nanoseconds })
    }

    /// Notes that a file was seen of which an earlier moment proves nothing, so that later ones will. New files are
    /// mostly changed or removed next, so that not each is worth a look at the clock.
    pub(crate) fn note_newer(&self) {
        if self.newer.fetch_add(1, Ordering::Relaxed).is_multiple_of(FILES_PER_READ) {
            self.read();
        }
    }

    /// Reads the clock. An earlier moment that is not before this one is none: somebody has set the clock back.
    pub(crate) fn read(&self) -> Moment {
        let (seconds, nanoseconds) = sys::coarse_time();
        self.last.store(seconds.saturating_mul(NANOSECONDS).saturating_add(nanoseconds), Ordering::Release);
        Moment(Timestamp { seconds, nanoseconds: u32::try_from(nanoseconds).unwrap_or(0) })
    }
}

impl Moment {
    /// Whether any time that the kernel sets from this moment on differs from `time`. A file system that keeps whole
    /// seconds has no nanoseconds.
    pub(crate) fn is_after(self, time: Timestamp) -> bool {
        let Moment(now) = self;
        now.seconds > time.seconds || (time.nanoseconds != 0 && now > time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(seconds: i64, nanoseconds: u32) -> Timestamp {
        Timestamp { seconds, nanoseconds }
    }

    #[test]
    fn time_of_the_running_tick_proves_nothing() {
        let now = Moment(time(10, 4_000_000));
        assert!(now.is_after(time(10, 3_999_999)) && now.is_after(time(9, 999_999_999)));
        assert!(!now.is_after(time(10, 4_000_000)) && !now.is_after(time(11, 1)));
    }

    #[test]
    fn whole_second_proves_nothing_before_it_is_over() {
        let late = Moment(time(10, 999_999_999));
        assert!(!late.is_after(time(10, 0)) && late.is_after(time(9, 0)));
    }

    #[test]
    fn memory_is_given_back_and_never_exceeded() {
        let memory = Arc::new(MetadataMemory::new(100));
        let mut first = MemoryShare::none(&memory);
        assert!(first.grow(60) && !first.grow(50) && first.grow(40));
        assert_eq!(memory.used_bytes(), 100);
        first.shrink(30);
        assert_eq!(memory.used_bytes(), 70);
        drop(first);
        assert_eq!(memory.used_bytes(), 0);
    }
}
