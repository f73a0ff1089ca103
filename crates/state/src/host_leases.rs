//! What the host keeps for files with state: leases and holds.
//!
//! Leases keep delegations true while local processes use the same files.
//! A file has one lease while it has a delegation that needs one ([`OpenArgs::leased`](crate::OpenArgs::leased)). The
//! lease is for reading: nobody has the file open for writing, and so such delegations are for reading too. A client
//! that opens the file for writing gets its own delegation recalled like those of others, because the server's own
//! writes would break the lease.
//!
//! A file with an open, a delegation, a lock or a share of any protocol is held, so that its clients reach it after its
//! last name is removed (RFC 8881 §18.25.4). The client whose state came first is charged for the hold.

use std::sync::Arc;
use std::time::Duration;

use vfs::{FileHold, FileLease};

use crate::account::{Account, Charge, Kind};
use crate::core::Core;
use crate::{FileKey, State, StateError};

/// Takes leases and holds on the host's files. It is called with the state's mutex held and must not block.
pub trait HostLeases: Send {
    /// Leases a file for reading, or returns `None` if it cannot be leased now. When the lease breaks,
    /// [`State::lease_broken`] must be called for the file.
    fn lease(&mut self, file: &FileKey) -> Option<Box<dyn FileLease>>;

    /// Holds a file, or returns `None` if it cannot be held. `worker` is the thread's number.
    ///
    /// # Errors
    /// [`Gone`] if nothing could reach the file any more.
    fn hold(&mut self, file: &FileKey, worker: usize) -> Result<Option<FileHold>, Gone> {
        let _ = (file, worker);
        Ok(None)
    }
}

/// The file has lost its last name, and nothing holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

impl From<Gone> for StateError {
    fn from(Gone: Gone) -> StateError {
        StateError::Stale
    }
}

/// A hold on a file with state, and what it counts as.
#[derive(Debug)]
pub(crate) struct Hold {
    _file: FileHold,
    _charge: Charge,
}

/// No host: no file can be leased or held.
#[derive(Debug, Default)]
pub struct NoHostLeases;

impl HostLeases for NoHostLeases {
    fn lease(&mut self, _: &FileKey) -> Option<Box<dyn FileLease>> {
        None
    }
}

/// The part of the host's break time that is left for ending the lease, and the least of it. The clients' state is
/// looked at every second.
const MARGIN_SHARE: u32 = 8;
const MIN_MARGIN: Duration = Duration::from_secs(2);

impl State {
    /// Takes leases from a host. Call it before the first file is opened.
    pub fn use_leases(&self, leases: Box<dyn HostLeases>) {
        self.core().leases = leases;
    }

    /// The lease of a file is broken: its delegations are recalled, and revoked before the host has ended the lease by
    /// force, which it does after `break_time`.
    pub fn lease_broken(&self, now: Duration, file: &FileKey, break_time: Duration) {
        let margin = (break_time / MARGIN_SHARE).max(MIN_MARGIN);
        self.core().recall_leased(now, file, now + break_time.saturating_sub(margin));
    }
}

impl Core {
    /// Leases a file, unless it is leased; true when it is.
    pub(crate) fn lease(&mut self, file: &FileKey) -> bool {
        if self.is_leased(file) {
            return true;
        }
        let lease = self.leases.lease(file);
        let Some(entry) = self.files.get_mut(file) else { return false };
        entry.lease = lease;
        entry.lease.is_some()
    }

    /// Holds a file with state, unless it is held. Beyond the limit it goes without.
    pub(crate) fn hold(&mut self, file: &FileKey, account: &Arc<Account>, worker: usize) -> Result<(), Gone> {
        let Some(entry) = self.files.get_mut(file).filter(|entry| entry.hold.is_none()) else { return Ok(()) };
        let Ok(charge) = account.take(Kind::Hold) else { return Ok(()) };
        entry.hold = self.leases.hold(file, worker)?.map(|held| Hold { _file: held, _charge: charge });
        Ok(())
    }

    pub(crate) fn is_leased(&self, file: &FileKey) -> bool {
        self.files.get(file).is_some_and(|file| file.lease.is_some())
    }
}
