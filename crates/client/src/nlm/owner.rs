//! The locks of one open file.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proto::nlm::Status as Wire;
use tokio::sync::oneshot;

use super::call::{Answer, Question, Verb};
use super::{next_svid, recovery};
use crate::core::Failure;
use crate::patience::Patience;
use crate::v4::{HeldLock, HeldLocks};
use crate::{Error, Handle, Mount, Reason, Result, Status};

/// Who has the locks of one open file, as the server sees him: a process of this host.
#[derive(Debug)]
pub(super) struct LockOwner {
    pub(super) mount: Mount,
    handle: Handle,
    svid: i32,
    host: Vec<u8>,
    name: Vec<u8>,
    held: Mutex<Held>,
    /// Held by whoever changes the locks, which happens one change after the other.
    pub(super) order: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Held {
    locks: HeldLocks,
    /// Whether the server lost them for good.
    are_lost: bool,
}

impl LockOwner {
    pub(super) fn svid(&self) -> i32 {
        self.svid
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn locks(&self) -> Vec<HeldLock> {
        self.held().locks.to_vec()
    }

    /// Notes that the server lost the locks and somebody else may have changed the file.
    pub(super) fn lose(&self) {
        *self.held() = Held { locks: HeldLocks::default(), are_lost: true };
        self.mount.0.nlm.remove(self.svid);
    }

    pub(super) async fn ask(&self, verb: Verb, range: HeldLock) -> Result<Answer> {
        let (host, owner, svid) = (&self.host[..], &self.name[..], self.svid);
        self.mount.ask_locks(&Question { verb, file: &self.handle, host, owner, svid, range }).await
    }

    /// Asks, as somebody else would, whose lock is in the way.
    pub(super) async fn ask_as_stranger(&self, range: HeldLock) -> Result<Answer> {
        let (host, owner, svid) = (&self.host[..], &b"nobody"[..], next_svid());
        let question = Question { verb: Verb::Test, file: &self.handle, host, owner, svid, range };
        self.mount.ask_locks(&question).await
    }

    /// Whether it is this owner's lock that a TEST found.
    pub(super) fn is_me(&self, svid: i32, owner: &[u8]) -> bool {
        svid == self.svid && owner == self.name
    }

    /// Takes a lock if it can be had now. Other changes go before while the server reclaims.
    async fn take(self: &Arc<Self>, wanted: HeldLock) -> Result<Vec<HeldLock>> {
        let mut patience = Patience::new(self.mount.options().is_hard);
        loop {
            match self.take_once(wanted).await {
                Err(error) if patience.allows(&error) => patience.wait().await,
                other => return other,
            }
        }
    }

    /// Asks for a lock once; what was locked in its place before is given back.
    async fn take_once(self: &Arc<Self>, wanted: HeldLock) -> Result<Vec<HeldLock>> {
        let _order = self.order.lock().await;
        if self.held().are_lost {
            return Err(self.error("LOCK", Reason::StateLost));
        }
        // What is lost from here on is noticed, even before anybody looks after the lock.
        let reconnects = self.mount.lock_link().await?.connection.counters().reconnects;
        match self.ask(Verb::Lock { reclaim: false }, wanted).await? {
            Answer::Status(Wire::Granted) => {}
            Answer::Status(Wire::Blocked) => {
                // It was not asked to wait, and must not grant what nobody waits for.
                self.ask(Verb::Cancel, wanted).await?;
                return Err(self.denied(wanted));
            }
            answer => return Err(self.refusal("LOCK", &answer, wanted)),
        }
        let before = {
            let mut held = self.held();
            let before = held.locks.within(&wanted);
            held.locks.insert(wanted);
            before
        };
        if self.mount.0.nlm.add(self) {
            recovery::watch(&self.mount, Some(reconnects));
        }
        Ok(before)
    }

    async fn release(&self, range: HeldLock) -> Result<()> {
        let mut patience = Patience::new(self.mount.options().is_hard);
        loop {
            match self.release_once(range).await {
                Err(error) if patience.allows(&error) => patience.wait().await,
                other => return other,
            }
        }
    }

    async fn release_once(&self, range: HeldLock) -> Result<()> {
        let _order = self.order.lock().await;
        if self.held().locks.is_empty() {
            return Ok(());
        }
        match self.ask(Verb::Unlock, range).await? {
            Answer::Status(Wire::Granted) => {
                let mut held = self.held();
                held.locks.remove(&range);
                if held.locks.is_empty() {
                    self.mount.0.nlm.remove(self.svid);
                }
                Ok(())
            }
            answer => Err(self.refusal("UNLOCK", &answer, range)),
        }
    }

    /// Gives a lock back that nobody took, and has what was there before again.
    async fn give_back(self: &Arc<Self>, lock: HeldLock, before: Vec<HeldLock>) {
        let kept = before.iter().copied().filter(|held| held.kind != lock.kind);
        for was in kept {
            if let Err(error) = self.take(was).await {
                tracing::warn!(%error, "a lock stays as it was asked for");
            }
        }
        for gap in lock.gaps_between(&before) {
            if let Err(error) = self.release(gap).await {
                tracing::warn!(%error, "a lock that nobody took stays");
            }
        }
    }

    async fn whose(&self, wanted: HeldLock) -> Error {
        match self.ask(Verb::Test, wanted).await {
            Ok(Answer::Held { offset, length, .. }) => self.error("LOCK", Reason::Locked { offset, length }),
            Ok(Answer::Status(_)) => self.denied(wanted),
            Err(error) => error,
        }
    }

    fn denied(&self, wanted: HeldLock) -> Error {
        self.error("LOCK", Reason::Locked { offset: wanted.offset, length: wanted.length() })
    }

    fn refusal(&self, operation: &'static str, answer: &Answer, wanted: HeldLock) -> Error {
        let status = match answer {
            Answer::Held { offset, length, .. } => {
                return self.error(operation, Reason::Locked { offset: *offset, length: *length });
            }
            Answer::Status(Wire::Denied | Wire::Deadlock | Wire::Blocked) => return self.denied(wanted),
            Answer::Status(Wire::Granted) => Status::Ok,
            Answer::Status(Wire::DeniedNoLocks) => Status::TryLater,
            Answer::Status(Wire::DeniedGracePeriod) => Status::Grace,
            Answer::Status(Wire::RoFs) => Status::ReadOnly,
            Answer::Status(Wire::StaleFh) => Status::Stale,
            Answer::Status(Wire::FBig) => Status::FileTooBig,
            Answer::Status(Wire::Failed) => Status::ServerFault,
        };
        self.error(operation, Reason::Status(status))
    }

    fn error(&self, operation: &'static str, reason: Reason) -> Error {
        self.mount.error(operation, reason)
    }
}

/// A lock that was taken for somebody: it is given back unless he keeps it.
pub(crate) struct Grant {
    owner: Arc<LockOwner>,
    lock: HeldLock,
    before: Option<Vec<HeldLock>>,
}

impl Grant {
    pub(crate) fn keep(mut self) {
        self.before = None;
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let Some(before) = self.before.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (owner, lock) = (Arc::clone(&self.owner), self.lock);
        runtime.spawn(async move { owner.give_back(lock, before).await });
    }
}

/// The locks of one open file. They are given back when it is dropped.
#[derive(Debug)]
pub(crate) struct FileLocks(Arc<LockOwner>);

impl FileLocks {
    pub(crate) fn new(mount: &Mount, handle: &Handle) -> FileLocks {
        let host = rustix::system::uname().nodename().to_bytes().to_vec();
        let svid = next_svid();
        let name = [format!("{svid}@").as_bytes(), &host].concat();
        let (held, order) = (Mutex::default(), tokio::sync::Mutex::default());
        FileLocks(Arc::new(LockOwner { mount: mount.clone(), handle: *handle, svid, host, name, held, order }))
    }

    /// Locks a range if nobody else's lock is in the way. A lock that is granted when nobody waits any more is given back.
    pub(crate) async fn try_lock(&self, wanted: HeldLock) -> Result<Grant> {
        let (sender, receiver) = oneshot::channel();
        let owner = Arc::clone(&self.0);
        tokio::spawn(async move {
            if !sender.is_closed() {
                let taken = owner.take(wanted).await;
                let grant = taken.map(|before| Grant { owner, lock: wanted, before: Some(before) });
                // A grant that cannot be handed over gives the lock back.
                drop(sender.send(grant));
            }
        });
        let closed = |_| self.0.error("LOCK", Reason::NoReply(Failure::Closed));
        receiver.await.map_err(closed)?
    }

    /// The lock that is in the way of another one, as the error that says so.
    pub(crate) async fn whose(&self, wanted: HeldLock) -> Error {
        self.0.whose(wanted).await
    }

    /// Whether a range could be locked.
    pub(crate) async fn test(&self, wanted: HeldLock) -> Result<()> {
        let mut patience = Patience::new(self.0.mount.options().is_hard);
        loop {
            let error = match self.0.ask(Verb::Test, wanted).await? {
                Answer::Status(Wire::Granted) => return Ok(()),
                answer => self.0.refusal("TEST", &answer, wanted),
            };
            if !patience.allows(&error) {
                return Err(error);
            }
            patience.wait().await;
        }
    }

    /// Unlocks a range, even if nobody waits for it any more. What is not locked stays so.
    pub(crate) async fn unlock(&self, range: HeldLock) -> Result<()> {
        let owner = Arc::clone(&self.0);
        let closed = |_| self.0.error("UNLOCK", Reason::NoReply(Failure::Closed));
        tokio::spawn(async move { owner.release(range).await }).await.map_err(closed)?
    }

    /// Gives all locks back.
    pub(crate) async fn close(&self) -> Result<()> {
        self.unlock(HeldLock::everything()).await
    }
}

impl Drop for FileLocks {
    fn drop(&mut self) {
        if self.0.held().locks.is_empty() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let owner = Arc::clone(&self.0);
        runtime.spawn(async move { owner.release(HeldLock::everything()).await });
    }
}
