//! Open files with bytes that no flush has covered since they were written.
//!
//! The kernel reports an error of writing a file back to every descriptor that was open before it. A descriptor that is
//! opened later gets it only if nobody else did: after a SETATTR that flushed the file, or an fsync of a local process,
//! it hears nothing. So COMMIT asks each descriptor by which the file was written, and these stay open until then.
//!
//! When such an open file on a local disk is closed, a descriptor for reading takes its place: local processes may
//! execute the file, and leases of it may be taken. Of closed files, only the latest are kept. A thread writes the
//! others out, as it does with those that nobody commits for [`MAX_AGE`].

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Result;

use crate::attributes::stat_fd;
use crate::flush::{FileId, FlushGroup, OpenFileId};
use crate::proc_path::proc_path;
use crate::resident::ResidentFile;
use crate::sys;
use crate::volume::CacheKind;

/// How long a closed file may wait for COMMIT: by then the kernel has written it back by itself.
const MAX_AGE: Duration = Duration::from_secs(60);

/// How many closed files wait for COMMIT at the most.
const MAX_CLOSED: usize = 4096;

/// With few files at hand, one closed file is kept for so many of them.
const NODES_PER_FILE: usize = 4;

/// The open files of an export with uncommitted bytes.
pub(crate) struct UncommittedFiles {
    flushes: Arc<FlushGroup>,
    max_closed: usize,
    state: Mutex<UncommittedState>,
    /// Whether a thread writes files out.
    is_writing: AtomicBool,
}

#[derive(Default)]
struct UncommittedState {
    listed: HashMap<FileId, Vec<Arc<Writer>>, foldhash::fast::RandomState>,
    /// The closed ones, oldest first. Those that were committed meanwhile are gone.
    closed: VecDeque<(Instant, Weak<Writer>)>,
}

/// A file that is, or was, open for writing.
pub(crate) struct Writer {
    id: OpenFileId,
    is_listed: AtomicBool,
    fd: Mutex<WriterFd>,
}

enum WriterFd {
    Open(Arc<ResidentFile>),
    Closed(OwnedFd),
}

impl UncommittedFiles {
    /// Makes an empty list, for a process that may have so many files at hand.
    pub(crate) fn new(flushes: Arc<FlushGroup>, max_nodes: usize) -> UncommittedFiles {
        let max_closed = MAX_CLOSED.min(max_nodes / NODES_PER_FILE);
        UncommittedFiles { flushes, max_closed, state: Mutex::default(), is_writing: AtomicBool::new(false) }
    }

    /// Notes that a file has uncommitted bytes. It is called after they were written: a flush that began before covers
    /// them, or does not find the file listed.
    pub(crate) fn note(&self, writer: &Arc<Writer>) {
        if !writer.is_listed.swap(true, Ordering::AcqRel) {
            self.lock().listed.entry(writer.id.file()).or_default().push(Arc::clone(writer));
        }
    }

    /// Takes those of a file that is about to be flushed: they are to be asked for errors after that.
    pub(crate) fn take(&self, file: FileId) -> Vec<Arc<Writer>> {
        let writers = self.lock().listed.remove(&file).unwrap_or_default();
        writers.iter().for_each(|writer| {
            writer.is_listed.swap(false, Ordering::AcqRel);
        });
        writers
    }

    /// Keeps a file that is closed, if it has uncommitted bytes.
    pub(crate) fn close(self: &Arc<UncommittedFiles>, writer: &Arc<Writer>) {
        if !writer.is_listed.load(Ordering::Acquire) {
            return;
        }
        let close = || writer.close().inspect_err(|_| writer.lose(&self.flushes));
        if self.flushes.watched(writer.id, close).is_err() {
            return drop(self.take(writer.id.file()));
        }
        let mut state = self.lock();
        state.closed.push_back((Instant::now(), Arc::downgrade(writer)));
        if state.closed.len() > self.max_closed {
            state.closed.retain(|(_, writer)| writer.strong_count() > 0);
        }
        let is_full = state.closed.len() > self.max_closed;
        drop(state);
        if is_full {
            self.write_out_old();
        }
    }

    /// Writes out what nobody has committed for long.
    pub(crate) fn tidy(self: &Arc<UncommittedFiles>) {
        let mut state = self.lock();
        state.closed.retain(|(_, writer)| writer.strong_count() > 0);
        let is_due = state.closed.front().is_some_and(|(closed, _)| closed.elapsed() > MAX_AGE);
        drop(state);
        if is_due {
            self.write_out_old();
        }
    }

    /// Closes what is kept of a file whose last name is gone: it would keep the space.
    pub(crate) fn drop_gone(&self, file: FileId) {
        let mut state = self.lock();
        let Some(writers) = state.listed.get_mut(&file) else { return };
        let gone: Vec<Arc<Writer>> = writers.extract_if(.., |writer| writer.is_closed()).collect();
        if writers.is_empty() {
            state.listed.remove(&file);
        }
        drop(state);
        drop(gone);
    }

    /// Starts a thread that writes out files until few and young ones are left.
    fn write_out_old(self: &Arc<UncommittedFiles>) {
        if self.is_writing.swap(true, Ordering::AcqRel) {
            return;
        }
        let files = Arc::clone(self);
        let work = move || {
            while let Some(writer) = files.next_old() {
                files.write_out(&writer);
            }
            files.is_writing.store(false, Ordering::Release);
        };
        if thread::Builder::new().name("write-out".to_owned()).spawn(work).is_err() {
            self.is_writing.store(false, Ordering::Release);
        }
    }

    fn next_old(&self) -> Option<Arc<Writer>> {
        let mut state = self.lock();
        loop {
            let is_old = |closed: &Instant| closed.elapsed() > MAX_AGE;
            let is_due = state.closed.len() > self.max_closed || state.closed.front().is_some_and(|(at, _)| is_old(at));
            let (_, writer) = state.closed.pop_front().filter(|_| is_due)?;
            if let Some(writer) = writer.upgrade() {
                return Some(writer);
            }
        }
    }

    /// Writes a file out, and takes it off the list meanwhile. A COMMIT that no longer finds it waits for the end of
    /// this ([`FlushGroup::check`]).
    fn write_out(&self, writer: &Arc<Writer>) {
        let write_out = || {
            let mut state = self.lock();
            if let Some(writers) = state.listed.get_mut(&writer.id.file()) {
                writers.retain(|listed| !Arc::ptr_eq(listed, writer));
                if writers.is_empty() {
                    state.listed.remove(&writer.id.file());
                }
            }
            drop(state);
            writer.write_out().inspect_err(|_| writer.lose(&self.flushes))
        };
        if let Err(error) = self.flushes.watched(writer.id, write_out) {
            tracing::error!(%error, "unstable writes of a file were lost: clients are told to write again");
        }
    }

    fn lock(&self) -> MutexGuard<'_, UncommittedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UncommittedFiles {
    /// Nobody asks for the errors of what is left.
    fn drop(&mut self) {
        if let Some(writer) = self.lock().listed.values().flatten().next() {
            self.flushes.note_loss(writer.id);
        }
    }
}

impl Writer {
    pub(crate) fn new(id: OpenFileId, fd: Arc<ResidentFile>) -> Arc<Writer> {
        Arc::new(Writer { id, is_listed: AtomicBool::new(false), fd: Mutex::new(WriterFd::Open(fd)) })
    }

    /// Fails when the kernel has an error that this descriptor was not told of.
    ///
    /// Without a page cache of its own, a file is flushed: only that asks the layer below an overlay.
    pub(crate) fn pending_error(&self) -> Result<()> {
        self.ask_by(sys::pending_error)
    }

    /// Writes the file's bytes to the disk.
    fn write_out(&self) -> Result<()> {
        self.ask_by(|fd| if is_nameless(fd) { Ok(()) } else { sys::write_out(fd) })
    }

    fn lose(&self, flushes: &FlushGroup) {
        match &*self.lock() {
            WriterFd::Open(fd) => flushes.lose(self.id, fd.as_fd()),
            WriterFd::Closed(fd) => flushes.lose(self.id, fd.as_fd()),
        }
    }

    fn ask_by(&self, on_disk: impl FnOnce(BorrowedFd<'_>) -> Result<()>) -> Result<()> {
        match &*self.lock() {
            WriterFd::Open(fd) if fd.cache_kind() != CacheKind::Pages => rustix::fs::fsync(fd.as_fd()),
            WriterFd::Open(fd) => on_disk(fd.as_fd()),
            WriterFd::Closed(fd) => on_disk(fd.as_fd()),
        }
    }

    /// Puts a descriptor for reading in place of the one for writing, unless the file cannot be opened for that, or
    /// only by a thread that may wait. Between the two, somebody else may take an error: then only the old one has it.
    fn close(&self) -> Result<()> {
        let mut fd = self.lock();
        let WriterFd::Open(open) = &*fd else { return Ok(()) };
        if open.cache_kind() != CacheKind::Pages {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(reader) = rustix::fs::open(proc_path(open.as_fd()).as_c_str(), flags, Mode::empty()) else {
            return Ok(());
        };
        let pending = sys::pending_error(open.as_fd());
        *fd = WriterFd::Closed(reader);
        pending
    }

    fn is_closed(&self) -> bool {
        matches!(&*self.lock(), WriterFd::Closed(_))
    }

    fn lock(&self) -> MutexGuard<'_, WriterFd> {
        self.fd.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_nameless(fd: BorrowedFd<'_>) -> bool {
    stat_fd(fd).is_ok_and(|stat| stat.stx_nlink == 0)
}
