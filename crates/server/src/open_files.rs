//! Open files, by handle, so that a READ or a WRITE does not open and close its file each time.
//!
//! Each worker has a cache of its own behind a lock that nobody else takes but to purge a file, so that a hit waits for
//! nobody. The cache holds no permission: whoever asks for a file has checked the caller already, for this very call.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vfs::{Handle, OpenFile, OpenMode};

/// Which open file: the export's own number, the file, and what it is open for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct OpenKey {
    pub(crate) export: u64,
    pub(crate) node: Handle,
    pub(crate) mode: OpenMode,
}

struct Slot {
    file: Arc<dyn OpenFile>,
    /// Whether the file was used since the eviction hand last came by.
    is_used: bool,
}

#[derive(Default)]
struct WorkerFiles {
    files: HashMap<OpenKey, Slot>,
    /// Every key of `files`, in the order in which the eviction hand meets them.
    order: VecDeque<OpenKey>,
}

/// The caches of all workers.
pub(crate) struct OpenFiles {
    workers: Box<[Mutex<WorkerFiles>]>,
    max_per_worker: usize,
}

impl OpenFiles {
    /// Makes empty caches that hold up to `max_per_worker` files each.
    pub(crate) fn new(workers: usize, max_per_worker: usize) -> OpenFiles {
        OpenFiles { workers: (0..workers.max(1)).map(|_| Mutex::default()).collect(), max_per_worker }
    }

    fn worker(&self, worker: usize) -> MutexGuard<'_, WorkerFiles> {
        self.workers[worker % self.workers.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open file under `key`, from the cache or from `open`.
    pub(crate) fn get<E>(
        &self,
        worker: usize,
        key: &OpenKey,
        open: impl FnOnce() -> Result<Arc<dyn OpenFile>, E>,
    ) -> Result<Arc<dyn OpenFile>, E> {
        if let Some(slot) = self.worker(worker).files.get_mut(key) {
            slot.is_used = true;
            return Ok(slot.file.clone());
        }
        let file = open()?;
        self.worker(worker).insert(*key, file.clone(), self.max_per_worker);
        Ok(file)
    }

    /// Closes a file for all workers, because its last name is gone.
    pub(crate) fn purge(&self, export: u64, node: &Handle) {
        for worker in &self.workers {
            let mut files = worker.lock().unwrap_or_else(PoisonError::into_inner);
            for mode in [OpenMode::Read, OpenMode::Write] {
                files.files.remove(&OpenKey { export, node: *node, mode });
            }
        }
    }

    /// Closes the files that were not used since the last sweep.
    pub(crate) fn sweep(&self) {
        for worker in &self.workers {
            let mut files = worker.lock().unwrap_or_else(PoisonError::into_inner);
            let files = &mut *files;
            files.files.retain(|_, slot| std::mem::take(&mut slot.is_used));
            files.order.retain(|key| files.files.contains_key(key));
        }
    }

    /// Closes all files of one worker but those that are in use right now, because descriptors have run out.
    pub(crate) fn release(&self, worker: usize) {
        let mut files = self.worker(worker);
        files.files.clear();
        files.order.clear();
    }

    /// Closes the files of every export that `is_served` does not know.
    pub(crate) fn retain_exports(&self, is_served: impl Fn(u64) -> bool) {
        for worker in &self.workers {
            worker.lock().unwrap_or_else(PoisonError::into_inner).files.retain(|key, _| is_served(key.export));
        }
    }
}

impl WorkerFiles {
    fn insert(&mut self, key: OpenKey, file: Arc<dyn OpenFile>, max: usize) {
        if max == 0 {
            return;
        }
        while self.order.len() >= max {
            self.evict_one();
        }
        if self.files.insert(key, Slot { file, is_used: false }).is_none() {
            self.order.push_back(key);
        }
    }

    /// Gives each file that was used a second chance, and drops the first one that was not.
    fn evict_one(&mut self) {
        while let Some(key) = self.order.pop_front() {
            match self.files.get_mut(&key) {
                Some(slot) if slot.is_used => {
                    slot.is_used = false;
                    self.order.push_back(key);
                }
                Some(_) => {
                    self.files.remove(&key);
                    return;
                }
                // It was purged; only its place in the order was left.
                None => return,
            }
        }
    }
}
