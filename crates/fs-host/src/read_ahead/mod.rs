//! Reading ahead of those who read files on disk from front to back.
//!
//! The kernel's own read-ahead goes by descriptor, and a server has one descriptor for all readers of a file: their
//! streams hide one another. So the kernel is told that reads come at random, and what is to be read ahead is found
//! here, for all descriptors of a file together, and asked for by threads of its own, since asking may wait.

mod streams;

use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::{fmt, thread};

use rustix::fs::Advice;
use vfs::Handle;

pub(crate) use streams::ReadResidency;
use streams::Streams;

use crate::resident::ResidentFile;

/// How many threads ask for what is to be read ahead.
const THREADS: usize = 2;

/// How many parts wait for them at the most; what comes beyond is not read ahead.
const MAX_WAITING: usize = 64;

/// How much all streams together are ahead of their readers at the most, in bytes: with many, each one's share is
/// smaller.
const TOTAL_BYTES: u64 = 128 << 20;

/// How much is asked for at once, in bytes: the kernel takes no more than a device's own read-ahead, which is this by
/// default.
const PIECE_BYTES: u64 = 128 << 10;

/// Who reads ahead of sequential readers of files on disk.
#[derive(Debug, Clone, Default)]
pub enum ReadAheadMode {
    /// The kernel, by descriptor.
    #[default]
    Kernel,
    /// Nobody.
    Off,
    /// The server, by stream; exports may share one.
    Streams(Arc<ReadAhead>),
}

/// What reads ahead by stream.
pub struct ReadAhead {
    max_window_bytes: u64,
    streams: AtomicUsize,
    jobs: OnceLock<SyncSender<ReadAheadJob>>,
    begun: AtomicU64,
    bytes: AtomicU64,
    dropped: AtomicU64,
}

/// What was read ahead since the server began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadAheadCounts {
    /// Streams that are read now.
    pub streams: u64,
    /// Streams that were found.
    pub found: u64,
    /// Bytes that were asked for.
    pub bytes: u64,
    /// Parts that were not asked for because too many waited.
    pub dropped: u64,
}

struct ReadAheadJob {
    file: Arc<ResidentFile>,
    range: Range<u64>,
}

impl fmt::Debug for ReadAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadAhead").field("max_window_bytes", &self.max_window_bytes).finish_non_exhaustive()
    }
}

impl ReadAhead {
    /// How much is read ahead of one stream if nothing else is said, in bytes.
    pub const WINDOW_BYTES: u64 = 4 << 20;

    /// Reads ahead up to `max_window_bytes` at once.
    pub fn new(max_window_bytes: u64) -> ReadAhead {
        ReadAhead {
            max_window_bytes,
            streams: AtomicUsize::new(0),
            jobs: OnceLock::new(),
            begun: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        }
    }

    /// What was read ahead so far.
    pub fn counts(&self) -> ReadAheadCounts {
        ReadAheadCounts {
            streams: self.streams.load(Ordering::Relaxed) as u64,
            found: self.begun.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
        }
    }

    /// What one stream may be ahead now.
    fn window_bytes(&self) -> u64 {
        let streams = self.streams.load(Ordering::Relaxed).max(1) as u64;
        self.max_window_bytes.min(TOTAL_BYTES / streams)
    }

    fn submit(&self, file: &Arc<ResidentFile>, range: Range<u64>) {
        let length = range.end - range.start;
        let job = ReadAheadJob { file: Arc::clone(file), range };
        match self.jobs.get_or_init(start_threads).try_send(job) {
            Ok(()) => self.bytes.fetch_add(length, Ordering::Relaxed),
            Err(_) => self.dropped.fetch_add(1, Ordering::Relaxed),
        };
    }
}

/// Starts the threads, which end when the sender is gone. Without any, nothing is read ahead.
fn start_threads() -> SyncSender<ReadAheadJob> {
    let (sender, receiver) = sync_channel(MAX_WAITING);
    let receiver = Arc::new(Mutex::new(receiver));
    for number in 0..THREADS {
        let receiver = Arc::clone(&receiver);
        let thread = thread::Builder::new().name(format!("read-ahead-{number}"));
        // One that cannot be started is missed by nobody but a slow reader.
        let _ = thread.spawn(move || {
            while let Some(job) = next_job(&receiver) {
                perform(&job)
            }
        });
    }
    sender
}

fn next_job(jobs: &Mutex<Receiver<ReadAheadJob>>) -> Option<ReadAheadJob> {
    lock(jobs).recv().ok()
}

fn perform(job: &ReadAheadJob) {
    let mut start = job.range.start;
    while start < job.range.end {
        let length = (job.range.end - start).min(PIECE_BYTES);
        // What cannot be read ahead is met again, with its error, by whoever reads it.
        let _ = rustix::fs::fadvise(job.file.as_fd(), start, std::num::NonZeroU64::new(length), Advice::WillNeed);
        start += length;
        job.file.note_storage_read();
    }
}

/// The streams of all open files of one export, by handle, so that all descriptors of a file share them.
pub(crate) struct StreamTable {
    mode: ReadAheadMode,
    files: Mutex<OpenStreams>,
}

#[derive(Default)]
struct OpenStreams {
    by_handle: HashMap<Handle, Weak<FileStreams>>,
    /// How many there were when those that are closed were last taken out.
    swept: usize,
}

impl StreamTable {
    pub(crate) fn new(mode: ReadAheadMode) -> StreamTable {
        StreamTable { mode, files: Mutex::default() }
    }

    /// The streams of a file that was just opened as `file`, where the server reads ahead of them.
    pub(crate) fn of(&self, handle: &Handle, file: &OwnedFd) -> Option<Arc<FileStreams>> {
        if !matches!(self.mode, ReadAheadMode::Kernel) {
            // Where the advice is not taken, the kernel reads ahead as well.
            let _ = rustix::fs::fadvise(file, 0, None, Advice::Random);
        }
        let ReadAheadMode::Streams(read_ahead) = &self.mode else { return None };
        Some(lock(&self.files).get(handle, read_ahead))
    }
}

impl OpenStreams {
    fn get(&mut self, handle: &Handle, read_ahead: &Arc<ReadAhead>) -> Arc<FileStreams> {
        if let Some(streams) = self.by_handle.get(handle).and_then(Weak::upgrade) {
            return streams;
        }
        if self.by_handle.len() > 2 * self.swept + MAX_WAITING {
            self.by_handle.retain(|_, streams| streams.strong_count() > 0);
            self.swept = self.by_handle.len();
        }
        let streams = Arc::new(FileStreams::new(Arc::clone(read_ahead)));
        self.by_handle.insert(*handle, Arc::downgrade(&streams));
        streams
    }
}

/// The streams of one file.
pub(crate) struct FileStreams {
    read_ahead: Arc<ReadAhead>,
    /// Whether there are any, so that reads of what is in memory anyway need not ask further.
    any: AtomicBool,
    streams: Mutex<Streams>,
}

impl FileStreams {
    fn new(read_ahead: Arc<ReadAhead>) -> FileStreams {
        FileStreams { read_ahead, any: AtomicBool::new(false), streams: Mutex::default() }
    }

    /// Takes note of a read, and reads ahead of the stream that it belongs to.
    #[inline]
    pub(crate) fn note(&self, file: &Arc<ResidentFile>, read: Range<u64>, residency: ReadResidency) {
        if residency != ReadResidency::Here || self.any.load(Ordering::Relaxed) {
            self.note_in_streams(file, &read, residency);
        }
    }

    #[cold]
    fn note_in_streams(&self, file: &Arc<ResidentFile>, read: &Range<u64>, residency: ReadResidency) {
        let mut streams = lock(&self.streams);
        let before = streams.proven();
        let ahead = streams.note(read, residency, self.read_ahead.window_bytes());
        let after = streams.proven();
        self.any.store(after > 0, Ordering::Relaxed);
        drop(streams);
        self.read_ahead.streams.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        self.read_ahead.begun.fetch_add(after.saturating_sub(before) as u64, Ordering::Relaxed);
        if let Some(range) = ahead {
            self.read_ahead.submit(file, range);
        }
    }
}

impl Drop for FileStreams {
    fn drop(&mut self) {
        let streams = self.streams.get_mut().unwrap_or_else(PoisonError::into_inner).proven();
        self.read_ahead.streams.fetch_sub(streams, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
