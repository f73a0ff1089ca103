//! Group commit: calls that need stable storage at the same time share flushes.
//!
//! A call that finds no flush running makes its own at once. A call that comes meanwhile leaves a request and waits.
//! When the flush ends, the first waiting call becomes the leader, takes all requests that have gathered, and flushes
//! their files together. All calls of the group return when that flush ends, and the next leader takes the requests
//! that came meanwhile.
//!
//! A call that is alone waits for no other. Any other call waits for at most one running flush besides the one that
//! carries its request.
//!
//! A group is flushed file by file, each file once, or with the whole file system: `costs` chooses the cheaper way.
//! Files are flushed side by side by the threads that wait for them, so that the file system's journal commits once for
//! all. When a file cannot be flushed, the calls that asked for it fail, and no others.
//!
//! Where callers are quicker apart, they do not queue: `load` finds out.

mod batch;
mod choice;
mod costs;
mod counters;
mod disk;
mod load;
mod request;

use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::io::Result;

use batch::FlushBatch;
use costs::{Costs, Way};
pub use counters::{FlushCounters, FlushCounts};
pub(crate) use disk::Disk;
use disk::Storage;
use load::{FlushCall, FlushLoad, Manner};
use request::{FlushRequest, RequestState};

/// How much of a file is flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Depth {
    /// Its bytes, and what is needed to find them.
    Data,
    /// Everything.
    All,
}

/// A file to flush.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flush<'f> {
    pub(crate) fd: BorrowedFd<'f>,
    pub(crate) depth: Depth,
}

/// The callers of an export that wait for storage.
pub(crate) struct FlushGroup {
    storage: Box<dyn Storage>,
    /// Whether callers share flushes; else each makes its own.
    is_shared: bool,
    load: FlushLoad,
    queue: Mutex<FlushQueue>,
    costs: Mutex<Costs>,
    counters: Arc<FlushCounters>,
}

/// Who flushes, and who comes next.
#[derive(Default)]
struct FlushQueue {
    is_flushing: bool,
    waiting: Vec<Arc<FlushRequest>>,
}

/// The right to flush while nobody else of the group does. It passes on to those who wait when this is dropped.
struct Lead<'g> {
    group: &'g FlushGroup,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.group.pass_on();
    }
}

/// The right to flush at once, for as long as this lives.
#[derive(Default)]
pub(crate) struct Leave<'g> {
    _lead: Option<Lead<'g>>,
    _call: Option<FlushCall<'g>>,
}

/// Where a caller comes in.
enum FlushRole<'g> {
    /// Nobody flushes: the caller does.
    Leader(Lead<'g>),
    /// Somebody flushes: the caller waits.
    Follower(Arc<FlushRequest>),
    /// The caller flushes beside the others: no descriptor is left to queue.
    Alone,
}

impl FlushGroup {
    /// Makes a group without callers. With `is_shared` they share flushes.
    pub(crate) fn new(storage: Box<dyn Storage>, is_shared: bool, counters: Arc<FlushCounters>) -> FlushGroup {
        FlushGroup {
            storage,
            is_shared,
            load: FlushLoad::default(),
            queue: Mutex::default(),
            costs: Mutex::default(),
            counters,
        }
    }

    /// Whether callers share flushes, so that a long one keeps others waiting.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Flushes these files, and returns when they are on storage.
    pub(crate) fn flush(&self, files: &[Flush<'_>]) -> Result<()> {
        if !self.is_shared {
            return self.flush_own(files);
        }
        let call = self.load.enter();
        match call.manner {
            Manner::Together => self.flush_shared(files),
            Manner::Apart => self.flush_own(files),
        }
    }

    fn flush_shared(&self, files: &[Flush<'_>]) -> Result<()> {
        match self.join(files) {
            FlushRole::Leader(_lead) => self.flush_own(files),
            FlushRole::Alone => self.flush_own(files),
            FlushRole::Follower(request) => match request.wait() {
                RequestState::Ended(result) => result,
                RequestState::Helps(batch) => {
                    batch.flush_files(&*self.storage);
                    request.wait_for_end()
                }
                RequestState::Waits | RequestState::Leads => self.lead(&request),
            },
        }
    }

    fn flush_own(&self, files: &[Flush<'_>]) -> Result<()> {
        self.counters.note(1, files.len());
        files.iter().try_for_each(|file| self.storage.flush(file.fd, file.depth))
    }

    /// The right to flush at once, if the caller need not queue: then `flush` need not be called.
    pub(crate) fn try_leave(&self) -> Option<Leave<'_>> {
        let leave = if self.is_shared { self.leave_queue()? } else { Leave::default() };
        self.counters.note(1, 1);
        Some(leave)
    }

    fn leave_queue(&self) -> Option<Leave<'_>> {
        let call = self.load.enter();
        if call.manner == Manner::Apart {
            return Some(Leave { _lead: None, _call: Some(call) });
        }
        let lead = self.try_lead();
        if lead.is_none() {
            call.give_up();
            return None;
        }
        Some(Leave { _lead: lead, _call: Some(call) })
    }

    /// The right to flush, if nobody else does.
    fn try_lead(&self) -> Option<Lead<'_>> {
        let is_flushing = std::mem::replace(&mut self.lock().is_flushing, true);
        (!is_flushing).then(|| Lead { group: self })
    }

    /// Queues, or leads when there is none.
    fn join(&self, files: &[Flush<'_>]) -> FlushRole<'_> {
        let mut queue = self.lock();
        if !std::mem::replace(&mut queue.is_flushing, true) {
            return FlushRole::Leader(Lead { group: self });
        }
        let Ok(request) = FlushRequest::new(files).map(Arc::new) else { return FlushRole::Alone };
        queue.waiting.push(Arc::clone(&request));
        FlushRole::Follower(request)
    }

    /// Flushes what has gathered, as the first of those who wait.
    fn lead(&self, own: &FlushRequest) -> Result<()> {
        let _lead = Lead { group: self };
        let batch = FlushBatch::of(std::mem::take(&mut self.lock().waiting));
        let files = batch.files();
        let way = self.lock_costs().choose(files, || self.storage.is_all_cheap());
        let start = Instant::now();
        // When everything cannot be flushed, that is some file's error, perhaps of nobody here: the files tell.
        let flushed = match way {
            Way::All => self.storage.flush_all().is_ok(),
            Way::Each => false,
        };
        if flushed {
            batch.end(&*self.storage);
        } else {
            self.flush_together(&batch);
        }
        let result = own.wait_for_end();
        if flushed || way == Way::Each {
            self.lock_costs().note(way, files, start.elapsed());
        }
        self.counters.note(batch.requests(), if flushed { 1 } else { files });
        result
    }

    /// Flushes the files of a batch side by side, with the help of those who wait for them.
    fn flush_together(&self, batch: &Arc<FlushBatch>) {
        batch.call_helpers();
        batch.flush_files(&*self.storage);
    }

    /// Lets the first of those who wait lead.
    fn pass_on(&self) {
        let mut queue = self.lock();
        match queue.waiting.first() {
            Some(next) => next.lead(),
            None => queue.is_flushing = false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, FlushQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_costs(&self) -> MutexGuard<'_, Costs> {
        self.costs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
