//! Names of directories that were listed before. Each is proved by the directory's change time (ctime), fetched during
//! the call that uses it.
//!
//! A change of names holds the directory's lock, sets its change time, and lets others see the change: in this order. A
//! chunk is read under the same lock. So it has every change whose time could be fetched before it was read, and while
//! the directory shows that time still, there was no other.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use vfs::{Handle, Timestamp};

use super::{DirChunk, MemoryShare, MetadataMemory, Moment};

/// The most chunks of one directory, which have about 1000 names each. Of a larger directory, those are kept that were
/// read last.
const MAX_CHUNKS: usize = 128;

/// What a directory takes besides its chunks, about.
const DIR_BYTES: usize = 256;

/// So many directories can be looked for at once. All threads share them: what a blocking thread has read serves the
/// loops.
const SHARDS: usize = 16;

/// The directories of one export.
pub(crate) struct Listings {
    shards: [Mutex<HashMap<Handle, ListedDir>>; SHARDS],
    memory: Arc<MetadataMemory>,
}

/// A directory, as it was at a time of change.
struct ListedDir {
    changed: Timestamp,
    chunks: Vec<Arc<DirChunk>>,
    /// The chunk that was found last. A client that lists the directory wants the same one or the next.
    found: usize,
    is_used: bool,
}

/// A directory whose change time was just fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirState<'a> {
    pub(crate) dir: &'a Handle,
    /// A moment before it was fetched.
    pub(crate) before: Moment,
    pub(crate) changed: Timestamp,
}

impl Listings {
    /// Makes an empty table.
    pub(crate) fn new(memory: &Arc<MetadataMemory>) -> Listings {
        Listings { shards: Default::default(), memory: Arc::clone(memory) }
    }

    /// The chunk that tells what comes after a cookie.
    pub(crate) fn find(&self, state: DirState<'_>, after: u64) -> Option<Arc<DirChunk>> {
        let mut shard = self.shard(state.dir);
        let listed = shard.get_mut(state.dir)?;
        if listed.changed != state.changed {
            let outdated = shard.remove(state.dir);
            drop(shard);
            drop(outdated);
            return None;
        }
        listed.is_used = true;
        let count = listed.chunks.len();
        let mut from_found = (0..count).map(|step| (listed.found + step) % count);
        listed.found = from_found.find(|&index| listed.chunks[index].after(after).is_some())?;
        Some(Arc::clone(&listed.chunks[listed.found]))
    }

    /// Keeps a chunk that was read after the directory's state was fetched, if every later change will show another
    /// time (`Moment::is_after`).
    pub(crate) fn keep(&self, state: DirState<'_>, mut chunk: DirChunk) -> Arc<DirChunk> {
        chunk.shrink();
        let mut share = MemoryShare::none(&self.memory);
        if !share.grow(chunk.memory_bytes() + DIR_BYTES) {
            return Arc::new(chunk);
        }
        chunk.share = Some(share);
        let chunk = Arc::new(chunk);
        let mut shard = self.shard(state.dir);
        let fresh = || ListedDir { changed: state.changed, chunks: Vec::new(), found: 0, is_used: true };
        let listed = shard.entry(*state.dir).or_insert_with(fresh);
        let outdated = (listed.changed != state.changed).then(|| mem::replace(listed, fresh()));
        listed.add(&chunk);
        drop(shard);
        drop(outdated);
        chunk
    }

    /// Drops what was not used since the call before.
    pub(crate) fn tidy(&self) {
        for shard in &self.shards {
            lock(shard).retain(|_, listed| mem::take(&mut listed.is_used));
        }
    }

    fn shard(&self, dir: &Handle) -> MutexGuard<'_, HashMap<Handle, ListedDir>> {
        let sum = dir.as_bytes().iter().fold(0, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add((*byte).into()));
        lock(&self.shards[sum % SHARDS])
    }
}

impl ListedDir {
    fn add(&mut self, chunk: &Arc<DirChunk>) {
        if self.chunks.iter().any(|known| known.start() == chunk.start()) {
            return;
        }
        if self.chunks.len() >= MAX_CHUNKS {
            self.chunks.remove(0);
        }
        self.chunks.push(Arc::clone(chunk));
    }
}

fn lock<T>(shard: &Mutex<T>) -> MutexGuard<'_, T> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
