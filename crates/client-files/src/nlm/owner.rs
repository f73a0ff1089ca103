//! The owner of the locks of one open file.

use super::call::{Answer, Question, Verb};
use super::svid::next_svid;
use crate::losses::{Guard, Kept, Losable};
use crate::v4::{HeldLock, HeldLocks};
use crate::{Error, Handle, Mount, Reason, Result};

/// The owner of the locks of one open file: to the server, a process of this host.
#[derive(Debug)]
pub(crate) struct LockOwner {
    pub(super) mount: Mount,
    handle: Handle,
    svid: i32,
    host: Vec<u8>,
    name: Vec<u8>,
    held: Kept<Held>,
    /// Locked by whoever changes the locks, one change at a time.
    pub(super) order: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) locks: HeldLocks,
    /// Locks that the server lost for good and that were not released since.
    pub(super) lost: HeldLocks,
    /// Whether the server may have granted a lock whose reply was lost.
    pub(super) may_have_more: bool,
}

impl Losable for Held {
    fn has_losses(&self) -> bool {
        !self.lost.is_empty()
    }
}

impl Held {
    pub(super) fn has_none(&self) -> bool {
        self.locks.is_empty() && self.lost.is_empty() && !self.may_have_more
    }
}

impl LockOwner {
    /// An owner that holds nothing.
    pub(super) fn new(mount: &Mount, handle: &Handle) -> LockOwner {
        let host = rustix::system::uname().nodename().to_bytes().to_vec();
        let svid = next_svid();
        let name = [format!("{svid}@").as_bytes(), &host].concat();
        let (held, order) = (Kept::new(Held::default()), tokio::sync::Mutex::default());
        LockOwner { mount: mount.clone(), handle: *handle, svid, host, name, held, order }
    }

    pub(super) fn svid(&self) -> i32 {
        self.svid
    }

    pub(super) fn held(&self) -> Guard<'_, Held> {
        self.held.lock()
    }

    pub(super) fn locks(&self) -> Vec<HeldLock> {
        self.held().locks.to_vec()
    }

    /// Records that the server lost a lock, so that others may have changed the file.
    pub(super) fn lose(&self, lock: HeldLock) {
        let mut held = self.held();
        held.locks.remove(&lock);
        held.lost.insert(lock);
        if held.locks.is_empty() {
            self.mount.0.nlm.remove(self.svid);
        }
    }

    /// Fails while a lock is lost.
    pub(super) fn check_kept(&self, operation: &'static str) -> Result<()> {
        if self.held.has_losses() { Err(self.error(operation, Reason::StateLost)) } else { Ok(()) }
    }

    pub(super) async fn ask(&self, verb: Verb, range: HeldLock) -> Result<Answer> {
        let (host, owner, svid) = (&self.host[..], &self.name[..], self.svid);
        self.mount.ask_locks(&Question { verb, file: &self.handle, host, owner, svid, range }).await
    }

    /// Tests as another owner, to find the lock that conflicts.
    pub(super) async fn ask_as_stranger(&self, range: HeldLock) -> Result<Answer> {
        let (host, owner, svid) = (&self.host[..], &b"nobody"[..], next_svid());
        let question = Question { verb: Verb::Test, file: &self.handle, host, owner, svid, range };
        self.mount.ask_locks(&question).await
    }

    /// Whether a lock found by TEST is this owner's.
    pub(super) fn is_me(&self, svid: i32, owner: &[u8]) -> bool {
        svid == self.svid && owner == self.name
    }

    pub(super) fn error(&self, operation: &'static str, reason: Reason) -> Error {
        self.mount.error(operation, reason)
    }
}
