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

use rustix::fs::OFlags;
use vfs::{Context, Error, FileLease, Handle, OnLeaseBreak, Result};

use crate::attributes::check_regular;
use crate::host::HostFs;
use crate::lease_keeper::LeaseKeeper;

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
