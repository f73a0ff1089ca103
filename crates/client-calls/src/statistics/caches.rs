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
pub struct Recorder {
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Recorder {
    /// Counts hits.
    pub fn hits(&self, count: u64) {
        self.hits.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts misses.
    pub fn misses(&self, count: u64) {
        self.misses.fetch_add(count, Ordering::Relaxed);
    }

    /// Counts one lookup.
    pub fn look(&self, is_hit: bool) {
        if is_hit { self.hits(1) } else { self.misses(1) }
    }

    fn get(&self) -> HitsMisses {
        HitsMisses { hits: self.hits.load(Ordering::Relaxed), misses: self.misses.load(Ordering::Relaxed) }
    }
}

/// The counters of all caches of a mount.
#[derive(Debug, Default)]
pub struct CacheRecorder {
    /// Attributes of files.
    pub attributes: Recorder,
    /// Names in directories.
    pub names: Recorder,
    /// Reads of data.
    pub block_reads: Recorder,
    /// Writes of data.
    pub block_writes: Recorder,
    /// Targets of symbolic links.
    pub symlinks: Recorder,
    /// Pages of listings.
    pub directory_blocks: Recorder,
    /// Whole listings.
    pub directory_entries: Recorder,
    /// Rights of users.
    pub access: Recorder,
}

impl CacheRecorder {
    /// The counters so far.
    pub fn counters(&self) -> CacheCounters {
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
