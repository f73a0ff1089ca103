//! Open files, by handle, so that a READ or a WRITE does not open and close its file each time.
//!
//! Each worker has a cache of its own behind a lock that nobody else takes but to purge a file or to tidy up, so that a hit waits
//! for nobody, and one worker opens a file once however many calls ask for it. The cache holds no permission and no
//! attributes: whoever asks for a file has checked the caller already, for this very call, and asks the open file for the rest. Only
//! requests that were received together share the attributes that one of them found out.
//!
//! The key is the whole handle, with the generation that the file system put into it, and not the export: a file that is reached by
//! two exports is one entry, and the last name that goes by one of them closes it for both.

use std::collections::{HashMap, VecDeque};
use std::num::NonZero;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use state::FileKey;
use vfs::{Attributes, OpenFile, OpenMode};

/// Which open file, and what it is open for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OpenKey {
    pub(crate) file: FileKey,
    pub(crate) mode: OpenMode,
}

/// What the caches of open files have done since the server began, and what they hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenFileCounts {
    /// Files that are open now.
    pub open: u64,
    /// Calls that found their file open.
    pub hits: u64,
    /// Calls that had to open it; with the cache off, all of them.
    pub misses: u64,
    /// Files that were closed to make room, for others or for descriptors.
    pub evicted: u64,
    /// Files that were closed because nobody used them for the idle time.
    pub idle: u64,
    /// Files that were closed because their last name or their export was gone.
    pub purged: u64,
    /// For how long the files that were closed had been open, together, in milliseconds.
    pub closed_age_ms: u64,
}

struct Slot {
    file: Arc<dyn OpenFile>,
    opened: Duration,
    /// Whether the file was used since the eviction hand last came by.
    is_used: bool,
}

/// Why a file is closed.
#[derive(Debug, Clone, Copy)]
enum Why {
    Evicted,
    Idle,
    Purged,
}

#[derive(Default)]
struct WorkerFiles {
    files: HashMap<OpenKey, Slot>,
    /// Every key of `files`, in the order in which the eviction hand meets them.
    order: VecDeque<OpenKey>,
    counts: OpenFileCounts,
    shared: Option<SharedAttributes>,
}

/// Attributes of a file that were found out for a request, for those that were received with it.
struct SharedAttributes {
    batch: NonZero<u64>,
    file: FileKey,
    attributes: Attributes,
}

/// Keeps what two workers write off one cache line.
#[derive(Default)]
#[repr(align(128))]
struct Aligned(Mutex<WorkerFiles>);

/// How many files are kept open at the most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenFileLimits {
    pub(crate) per_worker: usize,
    pub(crate) total: usize,
}

/// The caches of all workers.
pub(crate) struct OpenFiles {
    workers: Box<[Aligned]>,
    limits: OpenFileLimits,
    /// How many files all workers have open.
    count: AtomicUsize,
    idle: Duration,
    last_sweep: Mutex<Duration>,
}

impl OpenFiles {
    /// Makes empty caches, which keep a file until nobody has used it for `idle` to twice that.
    pub(crate) fn new(workers: usize, limits: OpenFileLimits, idle: Duration) -> OpenFiles {
        let workers = (0..workers.max(1)).map(|_| Aligned::default()).collect();
        OpenFiles { workers, limits, count: AtomicUsize::new(0), idle, last_sweep: Mutex::default() }
    }

    fn worker(&self, worker: usize) -> MutexGuard<'_, WorkerFiles> {
        lock(&self.workers[worker % self.workers.len()].0)
    }

    /// The open file under `key`, from the cache or from `open`. What cannot be opened is asked for again the next time.
    pub(crate) fn get<E>(
        &self,
        (worker, now): (usize, Duration),
        key: &OpenKey,
        open: impl FnOnce() -> Result<Arc<dyn OpenFile>, E>,
    ) -> Result<Arc<dyn OpenFile>, E> {
        {
            let mut files = self.worker(worker);
            if let Some(slot) = files.files.get_mut(key) {
                slot.is_used = true;
                let file = slot.file.clone();
                files.counts.hits += 1;
                return Ok(file);
            }
            files.counts.misses += 1;
        }
        let file = open()?;
        let slot = Slot { file: file.clone(), opened: now, is_used: false };
        // Closing a file may take a while: what has to go is dropped when the lock is free again, here and below.
        let closed = self.worker(worker).insert(*key, slot, self.limits.per_worker);
        self.note_closed(&closed);
        if self.limits.per_worker > 0 && self.count.fetch_add(1, Ordering::Relaxed) >= self.limits.total {
            self.make_room(worker, now);
        }
        Ok(file)
    }

    /// Closes a file of `worker`, which has just opened one, or else of the next worker that has any.
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

    fn note_closed(&self, closed: &[Slot]) {
        self.count.fetch_sub(closed.len(), Ordering::Relaxed);
    }

    /// The attributes that an earlier request of the batch found for the file, or those that `find` finds now. They are true for every
    /// request of the batch, since all of them had come when they were found out.
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
        self.worker(worker).shared = Some(SharedAttributes { batch, file: *file, attributes });
        Ok(attributes)
    }

    /// Forgets what the requests of a batch share, because the next one may change it.
    pub(crate) fn forget_attributes(&self, worker: usize) {
        self.worker(worker).shared = None;
    }

    /// Closes a file for all workers, because its last name is gone.
    pub(crate) fn purge(&self, file: &FileKey, now: Duration) {
        for worker in &self.workers {
            for mode in [OpenMode::Read, OpenMode::Write] {
                let closed = lock(&worker.0).close(&OpenKey { file: *file, mode }, now, Why::Purged);
                self.note_closed(closed.as_slice());
            }
        }
    }

    /// Closes the files that were not used for the idle time, once that has passed since the last sweep.
    pub(crate) fn sweep(&self, now: Duration) {
        {
            let mut last_sweep = lock(&self.last_sweep);
            if now < *last_sweep + self.idle {
                return;
            }
            *last_sweep = now;
        }
        for worker in &self.workers {
            let closed = lock(&worker.0).close_all(now, Why::Idle, |_, slot| !std::mem::take(&mut slot.is_used));
            self.note_closed(&closed);
        }
    }

    /// Closes all files but those that are in use right now, because descriptors have run out.
    pub(crate) fn release(&self, now: Duration) {
        for worker in &self.workers {
            let closed = lock(&worker.0).close_all(now, Why::Evicted, |_, _| true);
            self.note_closed(&closed);
        }
    }

    /// Closes the files that `is_served` does not know: no export shows them any more. For their age the time of the last sweep
    /// is good enough.
    pub(crate) fn retain(&self, is_served: impl Fn(&FileKey) -> bool) {
        let now = *lock(&self.last_sweep);
        for worker in &self.workers {
            let closed = lock(&worker.0).close_all(now, Why::Purged, |key, _| !is_served(&key.file));
            self.note_closed(&closed);
        }
    }

    /// What all workers have counted.
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
    /// Adds a file; returns those that had to make room.
    fn insert(&mut self, key: OpenKey, slot: Slot, max: usize) -> Vec<Slot> {
        let mut closed = Vec::new();
        if max == 0 {
            return closed;
        }
        while self.order.len() >= max {
            closed.extend(self.evict_one(slot.opened));
        }
        match self.files.insert(key, slot) {
            None => self.order.push_back(key),
            // A thread that waited meanwhile has opened the file as well.
            Some(other) => closed.push(other),
        }
        closed
    }

    /// Gives each file that was used a second chance, and takes out the first one that was not.
    fn evict_one(&mut self, now: Duration) -> Option<Slot> {
        while let Some(key) = self.order.pop_front() {
            match self.files.get_mut(&key) {
                Some(slot) if slot.is_used => {
                    slot.is_used = false;
                    self.order.push_back(key);
                }
                Some(_) => return self.close(&key, now, Why::Evicted),
                // It was purged; only its place in the order was left.
                None => return None,
            }
        }
        None
    }

    /// Takes out a file, if there is one.
    fn evict_any(&mut self, now: Duration) -> Option<Slot> {
        while !self.order.is_empty() {
            if let Some(slot) = self.evict_one(now) {
                return Some(slot);
            }
        }
        None
    }

    fn close(&mut self, key: &OpenKey, now: Duration, why: Why) -> Option<Slot> {
        // Most workers have nothing open when a file is purged.
        if self.files.is_empty() {
            return None;
        }
        self.files.remove(key).inspect(|slot| self.counts.close(slot, now, why))
    }

    fn close_all(&mut self, now: Duration, why: Why, mut closes: impl FnMut(&OpenKey, &mut Slot) -> bool) -> Vec<Slot> {
        let closed: Vec<Slot> = self.files.extract_if(|key, slot| closes(key, slot)).map(|(_, slot)| slot).collect();
        closed.iter().for_each(|slot| self.counts.close(slot, now, why));
        let files = &self.files;
        self.order.retain(|key| files.contains_key(key));
        closed
    }
}

impl OpenFileCounts {
    fn close(&mut self, slot: &Slot, now: Duration, why: Why) {
        match why {
            Why::Evicted => self.evicted += 1,
            Why::Idle => self.idle += 1,
            Why::Purged => self.purged += 1,
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
