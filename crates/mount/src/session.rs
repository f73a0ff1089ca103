//! The state that all threads of a mount share, and the loop of each thread.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::thread;

use rustix::io::Errno;
use vfs::{FileSystem, Properties};

use crate::abi::{MAX_DATA_BYTES, NO_PAGES, NOTIFY_INVAL_INODE, OUT_HEADER_BYTES, REQUEST_HEAD_BYTES};
use crate::arguments::Request;
use crate::callers::Callers;
use crate::device::{Device, Received};
use crate::dispatch;
use crate::files::Files;
use crate::flights::Flights;
use crate::local_locks::LocalLocks;
use crate::lock_waits::LockWaits;
use crate::nodes::Nodes;
use crate::open_dirs::OpenDirs;
use crate::options::Options;
use crate::output::{self, Output, Undo};
use crate::worker_pool::{Task, WorkerPool};

/// A mount.
pub(crate) struct Session {
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) properties: Properties,
    pub(crate) options: Options,
    pub(crate) device: Device,
    pub(crate) nodes: Nodes,
    pub(crate) files: Files,
    pub(crate) open_dirs: OpenDirs,
    pub(crate) callers: Callers,
    pub(crate) flights: Flights,
    pub(crate) local_locks: LocalLocks,
    pub(crate) lock_waits: LockWaits,
    pub(crate) workers: WorkerPool,
}

impl Session {
    pub(crate) fn new(fs: Arc<dyn FileSystem>, options: Options, device: Device) -> Session {
        Session {
            properties: fs.properties(),
            nodes: Nodes::new(fs.root()),
            fs,
            options,
            device,
            files: Files::default(),
            open_dirs: OpenDirs::default(),
            callers: Callers::default(),
            flights: Flights::default(),
            local_locks: LocalLocks::default(),
            lock_waits: LockWaits::default(),
            workers: WorkerPool::default(),
        }
    }

    /// Starts the first thread that answers requests, and those for interruptions and locks.
    ///
    /// # Errors
    /// A thread could not be started.
    pub(crate) fn start(self: &Arc<Session>) -> io::Result<()> {
        self.workers.begin();
        self.spawn("fuse-signals", Session::watch_signals)?;
        self.spawn("fuse-locks", |session| session.lock_waits.run(session))?;
        self.spawn("fuse-0", |session| session.serve(0))
    }

    fn spawn(self: &Arc<Session>, name: &str, run: impl FnOnce(&Arc<Session>) + Send + 'static) -> io::Result<()> {
        let session = Arc::clone(self);
        thread::Builder::new().name(name.to_owned()).spawn(move || run(&session)).map(drop)
    }

    /// Receives requests and answers them until the mount ends.
    fn serve(self: &Arc<Session>, worker: usize) {
        let mut input = vec![0; MAX_DATA_BYTES + REQUEST_HEAD_BYTES];
        let mut output = Output::new();
        while let Received::Request(count) = self.device.receive(&mut input) {
            self.take(&input[..count], worker, &mut output);
        }
        self.flights.end();
        self.lock_waits.end();
        self.workers.ended();
    }

    /// Answers one request, or hands it to another thread.
    fn take(self: &Arc<Session>, bytes: &[u8], worker: usize, output: &mut Output) {
        let Some(request) = Request::parse(bytes) else { return };
        if dispatch::at_once(self, &request) {
            return;
        }
        self.flights.begin(request.unique, request.pid, dispatch::waits_for_a_lock(&request));
        match self.workers.received() {
            Task::Queue => return self.workers.queue(bytes),
            Task::Start(number) => {
                if let Err(error) = self.spawn(&format!("fuse-{number}"), move |session| session.serve(number)) {
                    tracing::warn!(%error, "cannot start another thread for the mount");
                    self.workers.not_started();
                }
            }
            Task::Work => {}
        }
        self.answer(&request, worker, output);
        while let Some(bytes) = self.workers.next() {
            if let Some(request) = Request::parse(&bytes) {
                self.answer(&request, worker, output);
            }
        }
    }

    pub(crate) fn answer(&self, request: &Request<'_>, worker: usize, output: &mut Output) {
        // Its caller may have been killed while the request was queued.
        if !self.flights.is_waiting(request.unique) {
            return;
        }
        output.clear();
        let outcome = dispatch::carry_out(self, request, worker, output);
        if output.is_postponed() {
            return;
        }
        let is_heard = self.flights.claim(request.unique)
            && match outcome {
                Ok(()) => self.device.send(&output.message(request.unique)).is_ok(),
                Err(error) => self.send_error(request.unique, error),
            };
        if !is_heard || outcome.is_err() {
            self.undo(output);
        }
    }

    /// Takes back what a lost reply handed to the kernel.
    fn undo(&self, output: &Output) {
        for given in output.given() {
            match given {
                Undo::Forget(number) => self.nodes.forget(*number, 1),
                Undo::Close(number) => drop(self.files.remove(*number)),
                Undo::CloseDir(number) => self.open_dirs.remove(*number),
            }
        }
    }

    /// Sends a reply with only an error. Returns whether somebody waited for it.
    pub(crate) fn send_error(&self, unique: u64, error: Errno) -> bool {
        self.send_number(unique, -error.raw_os_error())
    }

    /// Sends a reply without content.
    pub(crate) fn send_done(&self, unique: u64) -> bool {
        self.send_number(unique, 0)
    }

    fn send_number(&self, unique: u64, number: i32) -> bool {
        self.device.send(&[IoSlice::new(&output::header(OUT_HEADER_BYTES, number, unique))]).is_ok()
    }

    /// Invalidates the kernel's attributes of a file. Its pages stay: dropping them here could wait for a request that
    /// waits for this thread.
    pub(crate) fn forget_attributes(&self, node: u64) {
        self.invalidate([node, NO_PAGES, 0]);
    }

    /// Also invalidates all pages of the file. Waits for their reads and writes, so worker threads must not call it.
    pub(crate) fn forget_content(&self, node: u64) {
        self.invalidate([node, 0, 0]);
    }

    /// `fuse_notify_inval_inode_out`: a file, an offset and a length; length 0 is everything.
    fn invalidate(&self, words: [u64; 3]) {
        let words = words.map(u64::to_ne_bytes);
        let header = output::header(OUT_HEADER_BYTES + words.as_flattened().len(), NOTIFY_INVAL_INODE, 0);
        // A kernel that does not have the file has nothing to invalidate.
        let _ = self.device.send(&[IoSlice::new(&header), IoSlice::new(words.as_flattened())]);
    }

    fn watch_signals(self: &Arc<Session>) {
        while let Some(killed) = self.flights.wait_for_killed() {
            for unique in killed {
                self.send_error(unique, Errno::INTR);
            }
        }
    }
}
