//! Caches open files by handle, so that a READ or a WRITE does not open and close its file each time.
//!
//! Each worker has its own cache. Others take its lock only to purge, sweep or evict, so that a hit rarely waits. The
//! cache holds no permissions, since each call checks its caller first, and no attributes, except those that requests
//! of one batch share.
//!
//! The key is the whole handle with the file system's generation, but not the export. A file reached through two
//! exports is one entry, and removing its last name through one export closes it for both.

use std::collections::VecDeque;
use std::num::NonZero;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use state::FileKey;
use vfs::{Attributes, OpenFile, OpenMode};

use crate::change::BetweenChanges;

/// The file and its open mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OpenKey {
    pub(crate) file: FileKey,
    pub(crate) mode: OpenMode,
}

/// Counters of the open file caches since the server's start, and their current size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenFileCounts {
    /// Files that are open now.
    pub open: u64,
    /// Calls that found their file open.
    pub hits: u64,
    /// Calls that had to open their file; with the cache off, all of them.
    pub misses: u64,
    /// Files closed to make room for others or to free descriptors.
    pub evicted: u64,
    /// Files closed because they were unused for the idle time.
    pub idle: u64,
    /// Files closed because their last name or their export was removed, or for a delegation.
    pub purged: u64,
    /// The time that closed files had been open, summed up, in milliseconds.
    pub closed_age_ms: u64,
}

struct CachedFile {
    file: Arc<dyn OpenFile>,
    opened: Duration,
    /// Whether the file was used since eviction last passed it.
    is_used: bool,
}

/// The reason for closing a file.
#[derive(Debug, Clone, Copy)]
enum FileCloseReason {
    Evicted,
    Idle,
    Purged,
}

#[derive(Default)]
struct WorkerFiles {
    files: foldhash::HashMap<OpenKey, CachedFile>,
    /// Every key of `files`, in the order of eviction.
    order: VecDeque<OpenKey>,
    counts: OpenFileCounts,
    /// How often files were purged: one that was opened before a purge is not cached after it.
    purges: u64,
    shared: Option<SharedAttributes>,
}

/// Attributes fetched for one request, shared with the others of its batch.
pub(crate) struct SharedAttributes {
    pub(crate) batch: NonZero<u64>,
    pub(crate) file: FileKey,
    pub(crate) attributes: Attributes,
    /// The changes between which they were fetched, if that is known.
    pub(crate) at: Option<BetweenChanges>,
}

/// Keeps the data of two workers on separate cache lines.
#[derive(Default)]
#[repr(align(128))]
struct AlignedFiles(Mutex<WorkerFiles>);

/// The most files to keep open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenFileLimits {
    pub(crate) per_worker: usize,
    /// Of all workers, however many connections there are.
    pub(crate) total: usize,
    /// Of all workers beyond `total`, while there is no connection.
    pub(crate) beside_connections: usize,
}

/// The files that a connection takes the place of: its own descriptor, and one for a connection that follows before the
/// next [`OpenFiles::make_room_for`].
const FILES_PER_CONNECTION: usize = 2;

/// The caches of all workers.
pub(crate) struct OpenFiles {
    workers: Box<[AlignedFiles]>,
    limits: OpenFileLimits,
    /// The most open files of all workers now.
    max_count: AtomicUsize,
    /// The number of open files of all workers.
    count: AtomicUsize,
    idle: Duration,
    last_sweep: Mutex<Duration>,
}

impl OpenFiles {
    /// Makes empty caches, which close a file after `idle` to twice that time without use.
    pub(crate) fn new(workers: usize, limits: OpenFileLimits, idle: Duration) -> OpenFiles {
        let workers = (0..workers.max(1)).map(|_| AlignedFiles::default()).collect();
        let max_count = AtomicUsize::new(limits.total);
        OpenFiles { workers, limits, max_count, count: AtomicUsize::new(0), idle, last_sweep: Mutex::default() }
    }

    fn worker(&self, worker: usize) -> MutexGuard<'_, WorkerFiles> {
        lock(&self.workers[worker % self.workers.len()].0)
    }

    /// The open file for `key`, from the cache or from `open`. Errors are not cached.
    pub(crate) fn get<E>(
        &self,
        worker: usize,
        now: Duration,
        key: &OpenKey,
        open: impl FnOnce() -> Result<Arc<dyn OpenFile>, E>,
    ) -> Result<Arc<dyn OpenFile>, E> {
        let purges = {
            let mut files = self.worker(worker);
            if let Some(slot) = files.files.get_mut(key) {
                slot.is_used = true;
                let file = slot.file.clone();
                files.counts.hits += 1;
                return Ok(file);
            }
            files.counts.misses += 1;
            files.purges
        };
        let file = open()?;
        let slot = CachedFile { file: file.clone(), opened: now, is_used: false };
        let mut files = self.worker(worker);
        if files.purges != purges {
            return Ok(file);
        }
        // Closing a file may take long, so evicted files are dropped after the lock is released, here and below.
        let closed = files.insert(*key, slot, self.limits.per_worker);
        drop(files);
        self.note_closed(&closed);
        if self.limits.per_worker > 0 && self.count.fetch_add(1, Ordering::Relaxed) >= self.max_count() {
            self.make_room(worker, now);
        }
        Ok(file)
    }

    /// A file that any worker has open.
    pub(crate) fn find(&self, key: &OpenKey) -> Option<Arc<dyn OpenFile>> {
        self.workers.iter().find_map(|worker| lock(&worker.0).files.get(key).map(|slot| Arc::clone(&slot.file)))
    }

    fn max_count(&self) -> usize {
        self.max_count.load(Ordering::Relaxed)
    }

    /// Lets files use the descriptors that so many connections leave, and evicts those that are too many.
    pub(crate) fn make_room_for(&self, connections: usize, now: Duration) {
        let spare = self.limits.beside_connections.saturating_sub(connections.saturating_mul(FILES_PER_CONNECTION));
        let max_count = self.limits.total.saturating_add(spare);
        self.max_count.store(max_count, Ordering::Relaxed);
        for excess in max_count..self.count.load(Ordering::Relaxed) {
            self.make_room(excess % self.workers.len(), now);
        }
    }

    /// Evicts a file of `worker`, which has just opened one, or else of the next worker that has any.
    fn make_room(&self, worker: usize, now: Duration) {
        for next in worker..worker + self.workers.len() {
            let mut files = self.worker(next);
            let closed = if next > worker || files.files.len() > 1 { files.evict_any(now) } else { None };
            drop(files);
            if closed.is_some() {
                return self.note_closed(closed.as_slice());
            }
        }
    }

    fn note_closed(&self, closed: &[CachedFile]) {
        self.count.fetch_sub(closed.len(), Ordering::Relaxed);
    }

    /// The attributes that an earlier request of the batch fetched for the file, or else those from `find`. They are
    /// fresh for every request of the batch, since all had arrived before they were fetched.
    pub(crate) fn attributes<E>(
        &self,
        worker: usize,
        batch: NonZero<u64>,
        file: &FileKey,
        find: impl FnOnce() -> Result<Attributes, E>,
    ) -> Result<Attributes, E> {
        if let Some(shared) = &self.worker(worker).shared
            && shared.batch == batch
            && shared.file == *file
        {
            return Ok(shared.attributes);
        }
        let attributes = find()?;
        self.share(worker, SharedAttributes { batch, file: *file, attributes, at: None });
        Ok(attributes)
    }

    /// Shares attributes that were just fetched with the rest of the batch.
    pub(crate) fn share(&self, worker: usize, shared: SharedAttributes) {
        self.worker(worker).shared = Some(shared);
    }

    /// The attributes that the batch shares of a file, if they were fetched between these changes.
    pub(crate) fn shared_between(
        &self,
        worker: usize,
        batch: NonZero<u64>,
        file: &FileKey,
        at: BetweenChanges,
    ) -> Option<Attributes> {
        let files = self.worker(worker);
        let shared = files.shared.as_ref()?;
        let is_same = shared.batch == batch && shared.file == *file && shared.at == Some(at);
        is_same.then_some(shared.attributes)
    }

    /// Drops the attributes that a batch shares, because a request may change them.
    pub(crate) fn forget_attributes(&self, worker: usize) {
        self.worker(worker).shared = None;
    }

    /// Closes a file for all workers, because its last name was removed.
    pub(crate) fn purge(&self, file: &FileKey, now: Duration) {
        for mode in [OpenMode::Read, OpenMode::Write] {
            self.purge_mode(file, mode, now);
        }
    }

    /// Closes a file for all workers as far as it is open in this mode.
    pub(crate) fn purge_mode(&self, file: &FileKey, mode: OpenMode, now: Duration) {
        for worker in &self.workers {
            let mut files = lock(&worker.0);
            files.purges += 1;
            let closed = files.close(&OpenKey { file: *file, mode }, now, FileCloseReason::Purged);
            drop(files);
            self.note_closed(closed.as_slice());
        }
    }

    /// Closes the files unused for the idle time, at most once per idle time.
    pub(crate) fn sweep(&self, now: Duration) {
        {
            let mut last_sweep = lock(&self.last_sweep);
            if now < *last_sweep + self.idle {
                return;
            }
            *last_sweep = now;
        }
        for worker in &self.workers {
            let closed =
                lock(&worker.0).close_all(now, FileCloseReason::Idle, |_, slot| !std::mem::take(&mut slot.is_used));
            self.note_closed(&closed);
        }
    }

    /// Closes all files, because descriptors ran out. Those in use close when their calls end.
    pub(crate) fn release(&self, now: Duration) {
        for worker in &self.workers {
            let closed = lock(&worker.0).close_all(now, FileCloseReason::Evicted, |_, _| true);
            self.note_closed(&closed);
        }
    }

    /// Closes the files for which `is_served` is false: no export shows them any more. Their age is counted up to the
    /// last sweep.
    pub(crate) fn retain(&self, is_served: impl Fn(&FileKey) -> bool) {
        let now = *lock(&self.last_sweep);
        for worker in &self.workers {
            let closed = lock(&worker.0).close_all(now, FileCloseReason::Purged, |key, _| !is_served(&key.file));
            self.note_closed(&closed);
        }
    }

    /// The sum of all workers' counters.
    pub(crate) fn counts(&self) -> OpenFileCounts {
        let mut sum = OpenFileCounts::default();
        for worker in &self.workers {
            let files = lock(&worker.0);
            sum += OpenFileCounts { open: files.files.len() as u64, ..files.counts };
        }
        sum
    }
}

impl WorkerFiles {
    /// Adds a file; returns the evicted ones.
    fn insert(&mut self, key: OpenKey, slot: CachedFile, max: usize) -> Vec<CachedFile> {
        let mut closed = Vec::new();
        if max == 0 {
            return closed;
        }
        while self.order.len() >= max {
            closed.extend(self.evict_one(slot.opened));
        }
        match self.files.insert(key, slot) {
            None => self.order.push_back(key),
            // Another thread opened the file meanwhile.
            Some(other) => closed.push(other),
        }
        closed
    }

    /// Evicts the first file that was not used since the last pass; used files get a second chance.
    fn evict_one(&mut self, now: Duration) -> Option<CachedFile> {
        while let Some(key) = self.order.pop_front() {
            match self.files.get_mut(&key) {
                Some(slot) if slot.is_used => {
                    slot.is_used = false;
                    self.order.push_back(key);
                }
                Some(_) => return self.close(&key, now, FileCloseReason::Evicted),
                // It was purged, and only its key was left here.
                None => return None,
            }
        }
        None
    }

    /// Evicts a file, if there is one.
    fn evict_any(&mut self, now: Duration) -> Option<CachedFile> {
        while !self.order.is_empty() {
            if let Some(slot) = self.evict_one(now) {
                return Some(slot);
            }
        }
        None
    }

    fn close(&mut self, key: &OpenKey, now: Duration, why: FileCloseReason) -> Option<CachedFile> {
        // A shortcut: most workers have nothing open when a file is purged.
        if self.files.is_empty() {
            return None;
        }
        self.files.remove(key).inspect(|slot| self.counts.close(slot, now, why))
    }

    fn close_all(
        &mut self,
        now: Duration,
        why: FileCloseReason,
        mut closes: impl FnMut(&OpenKey, &mut CachedFile) -> bool,
    ) -> Vec<CachedFile> {
        let closed: Vec<CachedFile> =
            self.files.extract_if(|key, slot| closes(key, slot)).map(|(_, slot)| slot).collect();
        closed.iter().for_each(|slot| self.counts.close(slot, now, why));
        let files = &self.files;
        self.order.retain(|key| files.contains_key(key));
        closed
    }
}

impl OpenFileCounts {
    fn close(&mut self, slot: &CachedFile, now: Duration, why: FileCloseReason) {
        match why {
            FileCloseReason::Evicted => self.evicted += 1,
            FileCloseReason::Idle => self.idle += 1,
            FileCloseReason::Purged => self.purged += 1,
        }
        self.closed_age_ms += now.saturating_sub(slot.opened).as_millis() as u64;
    }
}

impl AddAssign for OpenFileCounts {
    fn add_assign(&mut self, other: OpenFileCounts) {
        self.open += other.open;
        self.hits += other.hits;
        self.misses += other.misses;
        self.evicted += other.evicted;
        self.idle += other.idle;
        self.purged += other.purged;
        self.closed_age_ms += other.closed_age_ms;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use fs_mem::{MemFs, MemOptions};
    use vfs::{Context, CreateMode, FileSystem, Name, Place, SetAttributes};

    use super::*;

    #[test]
    fn file_that_was_opened_before_a_purge_is_not_kept_after_it() {
        let limits = OpenFileLimits { per_worker: 4, total: 4, beside_connections: 0 };
        let files = OpenFiles::new(2, limits, Duration::from_secs(10));
        let memory = MemFs::new(MemOptions::default());
        let place = Place { dir: memory.root(), name: Name::new(b"f").unwrap() };
        let made = memory.create(&Context::ROOT, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
        let key = OpenKey { file: FileKey { export: 1, node: made.handle }, mode: OpenMode::Read };
        let open = |meanwhile: &dyn Fn()| {
            let opened = memory.open(&Context::ROOT, &made.handle, OpenMode::Read).unwrap();
            meanwhile();
            Ok::<_, Infallible>(opened)
        };
        let purge = || files.purge(&key.file, Duration::ZERO);
        files.get(0, Duration::ZERO, &key, || open(&purge)).unwrap();
        assert_eq!(files.counts().open, 0);
        files.get(0, Duration::ZERO, &key, || open(&|| ())).unwrap();
        assert_eq!(files.counts().open, 1);
    }
}
