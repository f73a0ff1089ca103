//! The leases of this process, and the thread that learns that they are broken.
//!
//! The kernel reports a broken lease by a signal, which it sends to that thread alone: other threads and programs that
//! embed the server need not block it. When it cannot queue the signal, it sends SIGIO, and all leases are looked at.
//! The other changes come from one inotify instance.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use vfs::{Error, OnLeaseBreak, Result};

use crate::failure::failed;
use crate::proc_path::proc_path;
use crate::sys;

/// The room for events that one read takes. A watch of a file itself reports no name.
const EVENT_BYTES: usize = 4096;

/// The changes that no lease keeps away.
const UNLEASED_CHANGES: WatchFlags =
    WatchFlags::ATTRIB.union(WatchFlags::MODIFY).union(WatchFlags::MOVE_SELF).union(WatchFlags::DELETE_SELF);

/// All leases of the process.
#[derive(Debug)]
pub(crate) struct LeaseKeeper {
    /// The thread that gets the signals.
    thread: i32,
    inotify: OwnedFd,
    held: Mutex<Leases>,
}

#[derive(Default)]
struct Leases {
    by_fd: HashMap<RawFd, Lease>,
    /// The leases of each watch: of one file, reached through one or several exports.
    by_watch: HashMap<i32, Vec<RawFd>>,
}

struct Lease {
    fd: OwnedFd,
    watch: i32,
    /// Empty once the lease is broken.
    on_break: Option<OnLeaseBreak>,
}

impl std::fmt::Debug for Leases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Leases({})", self.by_fd.len())
    }
}

/// The keeper, once there has been a lease.
static KEEPER: Mutex<Option<Arc<LeaseKeeper>>> = Mutex::new(None);

impl LeaseKeeper {
    /// The keeper of this process. The first call starts its thread.
    pub(crate) fn get() -> Result<Arc<LeaseKeeper>> {
        let mut keeper = KEEPER.lock().unwrap_or_else(PoisonError::into_inner);
        if keeper.is_none() {
            *keeper = Some(start()?);
        }
        keeper.clone().ok_or(Error::NotSupported)
    }

    /// Takes a lease on a file that is open for reading; its number is the one of the descriptor.
    pub(crate) fn lease(&self, fd: OwnedFd, on_break: OnLeaseBreak) -> Result<RawFd> {
        // The lock is held, so that the thread finds the lease when something happens from here on.
        let mut held = self.lock();
        let path = proc_path(fd.as_fd());
        let watch = inotify::add_watch(&self.inotify, path.as_c_str(), UNLEASED_CHANGES).map_err(failed)?;
        if let Err(error) = sys::take_lease(fd.as_fd(), self.thread) {
            if !held.by_watch.contains_key(&watch) {
                self.unwatch(watch);
            }
            return Err(error.into());
        }
        let number = fd.as_raw_fd();
        held.by_watch.entry(watch).or_default().push(number);
        held.by_fd.insert(number, Lease { fd, watch, on_break: Some(on_break) });
        Ok(number)
    }

    /// Ends a lease.
    pub(crate) fn end(&self, number: RawFd) {
        let mut held = self.lock();
        let Some(Lease { fd, watch, .. }) = held.by_fd.remove(&number) else { return };
        let others = held.by_watch.entry(watch).or_default();
        others.retain(|other| *other != number);
        if others.is_empty() {
            held.by_watch.remove(&watch);
            self.unwatch(watch);
        }
        drop(held);
        // The processes go on that wait.
        sys::end_lease(fd.as_fd());
    }

    fn unwatch(&self, watch: i32) {
        // It fails if the file is gone, and the watch with it.
        let _ = inotify::remove_watch(&self.inotify, watch);
    }

    /// Reports the leases of these numbers, if they are broken.
    fn check(&self, numbers: impl Fn(&Leases) -> Vec<RawFd>, is_broken: impl Fn(&Lease) -> bool) {
        let mut held = self.lock();
        let mut broken = Vec::new();
        for number in numbers(&held) {
            let lease = held.by_fd.get_mut(&number).filter(|lease| is_broken(lease));
            broken.extend(lease.and_then(|lease| lease.on_break.take()));
        }
        drop(held);
        for on_break in broken {
            if catch_unwind(AssertUnwindSafe(on_break)).is_err() {
                tracing::error!("a broken lease was not handled because of a bug in the server");
            }
        }
    }

    /// Receives signals and events for good.
    fn run(&self, signals: &OwnedFd) {
        loop {
            let mut waiting = [PollFd::new(signals, PollFlags::IN), PollFd::new(&self.inotify, PollFlags::IN)];
            match poll(&mut waiting, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => tracing::error!(%error, "cannot wait for broken leases"),
            }
            self.receive_signals(signals);
            self.receive_events();
        }
    }

    fn receive_signals(&self, signals: &OwnedFd) {
        while let Ok(number) = sys::next_lease_signal(signals.as_fd()) {
            let numbers = |held: &Leases| number.map_or_else(|| held.by_fd.keys().copied().collect(), |one| vec![one]);
            // The number may be another lease's by now.
            self.check(numbers, |lease| !sys::has_lease(lease.fd.as_fd()));
        }
    }

    fn receive_events(&self) {
        let mut room = [MaybeUninit::uninit(); EVENT_BYTES];
        let mut events = inotify::Reader::new(&self.inotify, &mut room);
        while let Ok(event) = events.next() {
            let watch = event.wd();
            match event.events() {
                // Any file may have changed.
                flags if flags.contains(ReadFlags::QUEUE_OVERFLOW) => {
                    self.check(|held| held.by_fd.keys().copied().collect(), |_| true);
                }
                // The watch was removed here.
                flags if flags == ReadFlags::IGNORED => {}
                _ => self.check(|held| held.by_watch.get(&watch).cloned().unwrap_or_default(), |_| true),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Leases> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the thread of the keeper.
fn start() -> Result<Arc<LeaseKeeper>> {
    let (started, starting) = channel();
    let run = move || match keep(&started) {
        Ok((keeper, signals)) => keeper.run(&signals),
        Err(error) => drop(started.send(Err(error))),
    };
    thread::Builder::new().name("leases".to_owned()).spawn(run)?;
    let keeper = starting.recv().map_err(|_| io::Error::other("the thread of leases ended"))??;
    Ok(keeper)
}

/// What the thread does first: its own signals and number are those of the leases.
fn keep(started: &Sender<io::Result<Arc<LeaseKeeper>>>) -> io::Result<(Arc<LeaseKeeper>, OwnedFd)> {
    let signals = sys::receive_lease_signals()?;
    let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    let keeper = Arc::new(LeaseKeeper { thread, inotify, held: Mutex::default() });
    // Whoever started this thread waits for it.
    let _ = started.send(Ok(Arc::clone(&keeper)));
    Ok((keeper, signals))
}
