//! Leases on files, for delegations (fcntl(2), F_SETLEASE).
//!
//! A lease is for reading: the kernel gives one only for a file that no process has open for writing, counts this
//! process too, and lets nobody open the file for writing or truncate it by its path until the lease has ended. Other
//! changes by local processes do not wait. An inotify watch reports them once they are made: of the mode, owner, times
//! and extended attributes, of names and links, and truncation by an open for reading (`O_RDONLY | O_TRUNC`), which the
//! kernel lets pass.
//!
//! Leases need local storage: on a network's file system, changes at other machines break none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::OFlags;
use vfs::{Context, Error, FileLease, Handle, OnLeaseBreak, Result};

use crate::file::check_regular;
use crate::host::HostFs;
use crate::lease_keeper::LeaseKeeper;
use crate::volume::CacheKind;

/// Whether the kernel gives leases.
const ENABLED: &str = "/proc/sys/fs/leases-enable";
/// The time in seconds after which it ends a lease by force.
const BREAK_TIME: &str = "/proc/sys/fs/lease-break-time";

/// With less time, a client could not return a delegation before the kernel ends its lease.
const MIN_BREAK_TIME_S: u64 = 5;

/// How long the kernel waits for the end of a lease.
#[derive(Debug)]
pub(crate) struct LeaseTerms {
    is_local: bool,
    /// In seconds; 0 without leases.
    break_time_s: AtomicU64,
}

impl LeaseTerms {
    pub(crate) fn of(cache: CacheKind) -> LeaseTerms {
        let terms = LeaseTerms { is_local: cache != CacheKind::Unknown, break_time_s: AtomicU64::new(0) };
        terms.refresh();
        terms
    }

    /// Asks the kernel again.
    pub(crate) fn refresh(&self) {
        let is_on = self.is_local && number_in(ENABLED) == Some(1);
        let break_time_s = number_in(BREAK_TIME).filter(|time_s| is_on && *time_s >= MIN_BREAK_TIME_S);
        self.break_time_s.store(break_time_s.unwrap_or(0), Ordering::Relaxed);
    }

    pub(crate) fn break_time(&self) -> Option<Duration> {
        match self.break_time_s.load(Ordering::Relaxed) {
            0 => None,
            time_s => Some(Duration::from_secs(time_s)),
        }
    }
}

fn number_in(file: &str) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// A lease that ends when it is dropped.
#[derive(Debug)]
struct HostLease {
    keeper: Arc<LeaseKeeper>,
    number: i32,
}

impl FileLease for HostLease {}

impl Drop for HostLease {
    fn drop(&mut self) {
        self.keeper.end(self.number);
    }
}

impl HostFs {
    pub(crate) fn take_lease(
        &self,
        cx: &Context<'_>,
        handle: &Handle,
        on_break: OnLeaseBreak,
    ) -> Result<Box<dyn FileLease>> {
        if self.leases.break_time().is_none() {
            return Err(Error::NotSupported);
        }
        let keeper = LeaseKeeper::get()?;
        let (node, _) = self.living(cx, handle)?;
        check_regular(node.kind())?;
        self.identity.own()?;
        // A file that was made just now is open for writing here.
        drop(self.made.take(handle));
        let fd = self.with_room(cx, || node.reopen(OFlags::RDONLY))?;
        let number = keeper.lease(fd, on_break)?;
        Ok(Box::new(HostLease { keeper, number }))
    }
}
