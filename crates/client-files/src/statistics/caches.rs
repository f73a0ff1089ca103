//! Hits and misses of every cache, under the names of FreeBSD's nfsstat(1).

use std::sync::atomic::{AtomicU64, Ordering};

/// How often a cache had the answer, and how often the server had to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HitsMisses {
    /// Answers from the cache.
    pub hits: u64,
    /// Answers from the server.
    pub misses: u64,
}

/// The counters of all caches of a mount, per lookup in a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheCounters {
    /// Attributes (`Attr`).
    pub attributes: HitsMisses,
    /// Names in directories (`Lkup`).
    pub names: HitsMisses,
    /// Blocks of files that were read (`BioR`), one for each block that each read touched.
    pub block_reads: HitsMisses,
    /// Blocks of files that were written (`BioW`); a miss had to be read first.
    pub block_writes: HitsMisses,
    /// Targets of symbolic links (`BioRL`).
    pub symlinks: HitsMisses,
    /// Blocks of directories (`BioD`), each a page of a listing.
    pub directory_blocks: HitsMisses,
    /// Listings of whole directories (`DirE`).
    pub directory_entries: HitsMisses,
    /// Rights (`Accs`).
    pub access: HitsMisses,
}

/// One cache's counter, shared by all tasks.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Recorder {
    /// Counts hits.
    pub(crate) fn hits(&self, count: u64) {
        self.hits.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts misses.
    pub(crate) fn misses(&self, count: u64) {
        self.misses.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts one lookup.
    pub(crate) fn look(&self, is_hit: bool) {
        if is_hit { self.hits(1) } else { self.misses(1) }
    }

    fn get(&self) -> HitsMisses {
        HitsMisses { hits: self.hits.load(Ordering::Relaxed), misses: self.misses.load(Ordering::Relaxed) }
    }
}

/// The counters of all caches of a mount.
#[derive(Debug, Default)]
pub(crate) struct CacheRecorder {
    pub(crate) attributes: Recorder,
    pub(crate) names: Recorder,
    pub(crate) block_reads: Recorder,
    pub(crate) block_writes: Recorder,
    pub(crate) symlinks: Recorder,
    pub(crate) directory_blocks: Recorder,
    pub(crate) directory_entries: Recorder,
    pub(crate) access: Recorder,
}

impl CacheRecorder {
    pub(crate) fn counters(&self) -> CacheCounters {
        CacheCounters {
            attributes: self.attributes.get(),
            names: self.names.get(),
            block_reads: self.block_reads.get(),
            block_writes: self.block_writes.get(),
            symlinks: self.symlinks.get(),
            directory_blocks: self.directory_blocks.get(),
            directory_entries: self.directory_entries.get(),
            access: self.access.get(),
        }
    }
}
