//! What no safe wrapper covers: cachestat(2), what a new process does before its program, a thread's scheduling, and a
//! descriptor that tokio watches. Everything `unsafe` of this crate is here.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The number of cachestat(2), which is the same on every architecture (Linux 6.5).
const CACHESTAT: libc::c_long = 451;

/// From where to where: `struct cachestat_range`; a length of 0 reaches to the end.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat`, in pages.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CacheStat {
    pub(crate) cached: u64,
    pub(crate) dirty: u64,
    pub(crate) in_writeback: u64,
    pub(crate) evicted: u64,
    pub(crate) recently_evicted: u64,
}

/// How many pages of a file are in memory.
pub(crate) fn cachestat(file: &File) -> io::Result<CacheStat> {
    let range = Range { offset: 0, length: 0 };
    let mut found = CacheStat::default();
    // SAFETY: both structures are those of the kernel's interface, and they live until the call returns. The kernel
    // reads the first, and writes no more than the second. The descriptor is open as long as `file` is borrowed.
    let result = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut found, 0) };
    if result == 0 { Ok(found) } else { Err(io::Error::last_os_error()) }
}

/// Has the process that `command` starts killed when the thread that starts it ends, however that ends.
pub(crate) fn end_with_parent(command: &mut Command) {
    let ask = || set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from);
    // SAFETY: between fork and exec this makes a single system call, prctl(2), which is async-signal-safe; it takes no
    // lock, needs no memory, and its error has none on the heap.
    unsafe { command.pre_exec(ask) };
}

/// Has this thread, and those that it starts, run before all ordinary ones on their processor (sched(7), `SCHED_FIFO`).
/// Only the superuser may.
pub(crate) fn run_first() -> io::Result<()> {
    const THIS_THREAD: libc::pid_t = 0;
    let parameters = libc::sched_param { sched_priority: 20 };
    // SAFETY: the kernel reads the structure, which lives until the call returns, and writes nothing.
    let result = unsafe { libc::sched_setscheduler(THIS_THREAD, libc::SCHED_FIFO, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the runtime of this thread watch a descriptor for being readable.
pub(crate) fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the result owns the descriptor, which stays open and the same until the result is dropped and no longer
    // watches it.
    unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) }.map_err(io::Error::from)
}
