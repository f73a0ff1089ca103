//! Which flushes of open files run, and which have failed.
//!
//! The kernel reports an error of writing a file back once to each open file, and not to one that is opened after the
//! error was reported to another. So a flush that succeeds does not prove that the caller's bytes are on storage:
//! another flush may have got the error, and may still run. Each caller therefore also waits for the flushes that may
//! have got its error, and asks whether one failed since its bytes were written.
//!
//! Each failure is also a loss ([`Losses`]), which changes the write verifier: clients write again what they have not
//! committed, also to files that are not known here.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::Statx;
use rustix::io::{Errno, Result};

use super::losses::Losses;
use crate::attributes::device;

/// How many failures are remembered with their files. Whoever missed more takes one of them for its own.
const MAX_FAILURES: usize = 64;

/// An open file that may be flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenFileId {
    file: FileId,
    /// The number of the open file, which differs for each open of a file.
    open: u64,
}

impl OpenFileId {
    pub(crate) fn file(self) -> FileId {
        self.file
    }
}

/// The device and number of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(crate) fn of(stat: &Statx) -> FileId {
        FileId { device: device(stat), inode: stat.stx_ino }
    }

    pub(crate) fn new(device: u64, inode: u64) -> FileId {
        FileId { device, inode }
    }
}

/// Which flushes may have got an error that concerns a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Those of its open file: its bytes were written while it was open.
    OpenFile,
    /// Those of the file: its bytes may have been written before it was opened.
    File,
}

/// The flushes of an export's files.
#[derive(Default)]
pub(super) struct Failures {
    opens: AtomicU64,
    /// How many flushes have failed.
    count: AtomicU64,
    losses: Losses,
    state: Mutex<FailureState>,
    ended: Condvar,
}

#[derive(Default)]
struct FailureState {
    begun: u64,
    running: Vec<RunningFlush>,
    /// Files whose pages are being evicted since some could not be written.
    evicting: Vec<FileId>,
    /// The files of the last failures, oldest first.
    failed: VecDeque<FileId>,
    /// How many callers wait for flushes to end: without any, nobody has to be woken, which is a system call.
    waiters: usize,
}

#[derive(Clone, Copy)]
struct RunningFlush {
    number: u64,
    of: OpenFileId,
}

impl Failures {
    pub(super) fn new(losses: Losses) -> Failures {
        Failures { losses, ..Failures::default() }
    }

    /// Notes that bytes of a file were lost, or of any files if it is not known which.
    pub(super) fn note(&self, file: Option<FileId>) {
        if let Some(file) = file {
            self.remember(&mut self.lock(), file);
        }
        self.losses.note();
    }

    pub(super) fn losses(&self) -> u64 {
        self.losses.count()
    }

    pub(super) fn opened(&self, file: FileId) -> OpenFileId {
        OpenFileId { file, open: self.opens.fetch_add(1, Ordering::Relaxed) }
    }

    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Notes that bytes of a file were lost, after `evict` has evicted its pages. Until then others may open the file,
    /// write to a page that could not be written, and flush it without an error: they wait for this, and learn of it.
    pub(super) fn lose(&self, file: FileId, evict: impl FnOnce()) {
        self.lock().evicting.push(file);
        evict();
        let mut state = self.lock();
        let place = state.evicting.iter().position(|evicting| *evicting == file);
        place.map(|place| state.evicting.swap_remove(place));
        self.remember(&mut state, file);
        self.losses.note();
        self.wake(&state);
    }

    /// Runs a flush, which notes its failure before it ends.
    pub(super) fn watch<T>(&self, of: OpenFileId, flush: impl FnOnce() -> T) -> T {
        let number = self.begin(of);
        let result = flush();
        self.end(number);
        result
    }

    /// Fails when bytes of the file were lost since there were `since` failures. Waits for flushes that run now and are
    /// within reach, and for evictions of the file's pages.
    pub(super) fn check(&self, of: OpenFileId, reach: Reach, since: u64) -> Result<()> {
        let mut state = self.lock();
        let last = state.begun;
        state.waiters += 1;
        let is_near = |flush: &RunningFlush| match reach {
            Reach::OpenFile => flush.of == of,
            Reach::File => flush.of.file == of.file,
        };
        let waits = |state: &mut FailureState| {
            let runs = state.running.iter().any(|flush| flush.number <= last && is_near(flush));
            runs || state.evicting.contains(&of.file)
        };
        let mut state = self.ended.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        state.waiters -= 1;
        let missed = usize::try_from(self.count() - since).unwrap_or(usize::MAX);
        let is_lost =
            missed > state.failed.len() || state.failed.iter().rev().take(missed).any(|file| *file == of.file);
        if is_lost { Err(Errno::IO) } else { Ok(()) }
    }

    fn begin(&self, of: OpenFileId) -> u64 {
        let mut state = self.lock();
        state.begun += 1;
        let number = state.begun;
        state.running.push(RunningFlush { number, of });
        number
    }

    fn end(&self, number: u64) {
        let mut state = self.lock();
        state.running.retain(|flush| flush.number != number);
        self.wake(&state);
    }

    fn wake(&self, state: &FailureState) {
        if state.waiters > 0 {
            self.ended.notify_all();
        }
    }

    fn remember(&self, state: &mut FailureState, file: FileId) {
        if state.failed.len() == MAX_FAILURES {
            state.failed.pop_front();
        }
        state.failed.push_back(file);
        self.count.fetch_add(1, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, FailureState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use testing::wait_until;

    use super::*;

    fn file(inode: u64) -> FileId {
        FileId { device: 1, inode }
    }

    fn fail(failures: &Failures, of: OpenFileId) {
        failures.lose(of.file, || ());
    }

    #[test]
    fn failure_concerns_those_who_wrote_to_the_file_before_it_and_nobody_else() {
        let failures = Failures::default();
        let (own, other) = (failures.opened(file(1)), failures.opened(file(2)));
        fail(&failures, failures.opened(file(1)));
        assert_eq!(failures.check(own, Reach::OpenFile, 0), Err(Errno::IO));
        assert_eq!(failures.check(own, Reach::OpenFile, failures.count()), Ok(()));
        assert_eq!(failures.check(other, Reach::File, 0), Ok(()));
    }

    #[test]
    fn flush_by_another_open_file_counts_only_when_lost_pages_are_evicted() {
        let failures = Failures::default();
        let own = failures.opened(file(1));
        thread::scope(|scope| {
            let checks = |waiters| {
                let check = scope.spawn(|| failures.check(own, Reach::OpenFile, 0));
                wait_until("it waits", || failures.lock().waiters == waiters);
                check
            };
            let mut check = None;
            failures.lose(file(1), || check = Some(checks(1)));
            assert_eq!(check.unwrap().join().unwrap(), Err(Errno::IO));
        });
        assert_eq!(failures.losses(), 1);
    }

    #[test]
    fn failure_that_is_not_remembered_any_more_counts_for_every_file() {
        let failures = Failures::default();
        let (own, other) = (failures.opened(file(1)), failures.opened(file(2)));
        (0..MAX_FAILURES).for_each(|_| fail(&failures, other));
        assert_eq!(failures.check(own, Reach::File, 0), Ok(()));
        fail(&failures, other);
        assert_eq!(failures.check(own, Reach::File, 0), Err(Errno::IO));
        assert_eq!(failures.check(own, Reach::File, 1), Ok(()));
    }
}
