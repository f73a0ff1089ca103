//! Group commit: calls that need stable storage at the same time share flushes.
//!
//! A call that finds no flush running makes its own at once. A call that comes meanwhile leaves a request and waits.
//! When the flush ends, the first waiting call becomes the leader, takes all requests that have gathered, and flushes
//! their files together. The next leader takes the requests that came meanwhile.
//!
//! A call waits for flushes of others for at most [`MAX_WAIT`]. Then it leaves the group and flushes its own files. A
//! call that is alone waits for no other.
//!
//! A group is flushed file by file, each file once, or with the whole file system: `costs` chooses the cheaper way.
//! Files are flushed side by side by the threads that wait for them, so that the file system's journal commits once for
//! all. A call returns when its own files are flushed, however long the others of the group take. When a file cannot be
//! flushed, the calls that asked for it fail, and no others.
//!
//! Where callers are quicker apart, they do not queue: `load` finds out.
//!
//! The kernel reports an error of writing a file back once. `failures` makes sure that every caller gets it whose bytes
//! it concerns.

mod batch;
mod choice;
mod costs;
mod counters;
mod disk;
mod failures;
mod file;
mod flusher;
mod load;
mod losses;
mod lost;
mod request;
mod whole;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Result;

use batch::{FlushBatch, LEADER};
use costs::Way;
pub use counters::{FlushCounters, FlushCounts};
pub(crate) use disk::Disk;
use disk::Storage;
pub use disk::whole_flushes_report_failures;
pub(crate) use failures::{FileId, OpenFileId, Reach};
pub(crate) use file::{Depth, Flush};
use flusher::Flusher;
use load::{FlushCall, FlushLoad, Manner};
pub(crate) use losses::Losses;
use request::{FlushRequest, RequestState};
pub(crate) use whole::{SyncDoubt, WholeFlush, is_read_only};

/// For how long a call waits for flushes of others before it makes its own: long enough for the flush that runs and the
/// next one on a busy disk.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// The callers of an export that wait for storage.
pub(crate) struct FlushGroup {
    flusher: Flusher,
    /// Whether callers share flushes; else each makes its own.
    is_shared: bool,
    max_wait: Duration,
    load: FlushLoad,
    queue: Mutex<FlushQueue>,
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
    pub(crate) fn new(
        storage: Box<dyn Storage>,
        is_shared: bool,
        counters: Arc<FlushCounters>,
        losses: Losses,
    ) -> FlushGroup {
        FlushGroup {
            flusher: Flusher::new(storage, counters, losses),
            is_shared,
            max_wait: MAX_WAIT,
            load: FlushLoad::default(),
            queue: Mutex::default(),
        }
    }

    /// Whether callers share flushes, so that a long one keeps others waiting.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Flushes these files, and returns when they are on storage.
    pub(crate) fn flush(&self, files: &[Flush<'_>]) -> Result<()> {
        self.flusher.counters.note_call();
        if !self.is_shared || files.is_empty() {
            return self.flusher.flush_files(files);
        }
        let call = self.load.enter();
        match call.manner {
            Manner::Together => self.flush_shared(files),
            Manner::Apart => self.flusher.flush_files(files),
        }
    }

    fn flush_shared(&self, files: &[Flush<'_>]) -> Result<()> {
        match self.join(files) {
            FlushRole::Leader(_lead) => self.flusher.flush_files(files),
            FlushRole::Alone => self.flusher.flush_files(files),
            FlushRole::Follower(request) => self.follow(files, &request),
        }
    }

    /// Waits for flushes of others, and takes a part in them.
    fn follow(&self, files: &[Flush<'_>], request: &Arc<FlushRequest>) -> Result<()> {
        self.flusher.counters.note_wait();
        let deadline = Instant::now() + self.max_wait;
        loop {
            match request.wait(deadline) {
                RequestState::Leads => self.lead(),
                RequestState::Helps(share) => share.flush(&self.flusher),
                RequestState::Ended(result) => return result.and_then(|()| self.ask_for_errors(request)),
                RequestState::Waits | RequestState::Left => {
                    if self.leave(request) {
                        self.flusher.counters.note_timeout();
                        return self.flusher.flush_files(files);
                    }
                }
            }
        }
    }

    fn ask_for_errors(&self, request: &FlushRequest) -> Result<()> {
        request.unreported(|file| {
            self.flusher.ask_for_error(Flush { fd: file.fd.as_fd(), depth: file.depth, of: file.of })
        })
    }

    /// A new open file.
    pub(crate) fn opened(&self, file: FileId) -> OpenFileId {
        self.flusher.failures.opened(file)
    }

    /// How many flushes of open files have failed so far.
    pub(crate) fn failures(&self) -> u64 {
        self.flusher.failures.count()
    }

    /// How often bytes of the device may have been lost.
    pub(crate) fn losses(&self) -> u64 {
        self.flusher.failures.losses()
    }

    /// Notes that bytes of an open file were lost, of which no descriptor is left.
    pub(crate) fn note_loss(&self, of: OpenFileId) {
        self.flusher.failures.note(Some(of.file()));
    }

    /// Evicts the pages of an open file, some of which could not be written, and notes the loss.
    pub(crate) fn lose(&self, of: OpenFileId, fd: BorrowedFd<'_>) {
        self.flusher.lose(of.file(), fd);
    }

    /// Runs a flush of the whole file system besides.
    pub(crate) fn watched_whole<E>(
        &self,
        flush: impl FnOnce() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        flush().inspect_err(|_| self.flusher.failures.note(None))
    }

    /// Runs something that flushes an open file besides. It [loses](FlushGroup::lose) the file when that fails.
    pub(crate) fn watched<T>(&self, of: OpenFileId, flush: impl FnOnce() -> T) -> T {
        self.flusher.failures.watch(of, flush)
    }

    /// Fails when bytes of an open file may be lost that were written when so many flushes had failed. It is called
    /// after a flush, and waits for the others within `reach`.
    pub(crate) fn check(&self, of: OpenFileId, reach: Reach, since: u64) -> Result<()> {
        self.flusher.failures.check(of, reach, since)
    }

    /// The right to flush at once by a write, if there is such a write and the caller need not queue: then `flush` need
    /// not be called.
    pub(crate) fn try_leave(&self) -> Option<Leave<'_>> {
        if !self.flusher.storage.writes_through() {
            return None;
        }
        let leave = if self.is_shared { self.leave_queue()? } else { Leave::default() };
        self.flusher.counters.note_call();
        self.flusher.counters.note_flush();
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

    /// Takes a request out of the queue, unless its caller has to do something.
    fn leave(&self, request: &Arc<FlushRequest>) -> bool {
        let mut queue = self.lock();
        let leaves = request.leave();
        if leaves {
            queue.waiting.retain(|waiting| !Arc::ptr_eq(waiting, request));
        }
        leaves
    }

    /// Flushes what has gathered, as the first of those who wait. Returns when the own files are flushed or another
    /// caller flushes them.
    fn lead(&self) {
        let _lead = Lead { group: self };
        let batch = FlushBatch::of(std::mem::take(&mut self.lock().waiting));
        self.flusher.counters.note_group(batch.requests());
        let way = self.flusher.lock_costs().choose(batch.files(), || self.flusher.storage.is_all_cheap());
        // When everything cannot be flushed, that is some file's error, perhaps of nobody here: the files tell.
        if way == Way::All && self.flusher.flush_all().is_ok() {
            return batch.end(&self.flusher);
        }
        batch.call_helpers();
        batch.flush_files_of(LEADER, &self.flusher);
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
}

#[cfg(test)]
mod tests;
