//! The locks of one open file.

use std::sync::Arc;

use client_calls::core::Failure;
use proto::nlm::Status as Wire;

use super::call::{Answer, Verb};
use super::owner::LockOwner;
use super::recovery;
use crate::grant::{self, Grant, LockHolder};
use crate::v4::HeldLock;
use crate::{Connection, Error, Handle, Mount, Reason, Result, Status};

impl LockOwner {
    /// Requests a lock once, and returns the locks that it replaced.
    async fn take_once(self: &Arc<Self>, wanted: HeldLock) -> Result<Vec<HeldLock>> {
        let _order = self.order.lock().await;
        self.check_kept("LOCK")?;
        // Losses count from here on, before anybody watches the lock. Without a link the request below fails.
        let _ = self.mount.lock_link().await;
        let losses = self.mount.lock_losses().await;
        let asked = self.ask(Verb::Lock { reclaim: false }, wanted).await;
        self.held().may_have_more |= asked.is_err();
        match asked? {
            Answer::Status(Wire::Granted) => {}
            Answer::Status(Wire::Blocked) => {
                // The request was not to wait, so the server must not grant it later.
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
            recovery::watch(&self.mount, losses);
        }
        Ok(before)
    }

    async fn release_once(&self, range: HeldLock) -> Result<()> {
        let _order = self.order.lock().await;
        if self.held().has_none() {
            return Ok(());
        }
        match self.ask(Verb::Unlock, range).await? {
            Answer::Status(Wire::Granted) => {
                let mut held = self.held();
                held.lost.remove(&range);
                held.locks.remove(&range);
                held.may_have_more &= range != HeldLock::everything();
                if held.locks.is_empty() {
                    self.mount.0.nlm.remove(self.svid());
                }
                Ok(())
            }
            answer => Err(self.refusal("UNLOCK", &answer, range)),
        }
    }

    async fn whose(&self, wanted: HeldLock) -> Error {
        match self.ask(Verb::Test, wanted).await {
            Ok(Answer::Held { offset, length, is_exclusive, .. }) => {
                self.error("LOCK", Reason::Locked { offset, length, is_exclusive })
            }
            Ok(Answer::Status(_)) => self.denied(wanted),
            Err(error) => error,
        }
    }

    /// The refusal of a lock whose holder is unknown.
    fn denied(&self, wanted: HeldLock) -> Error {
        let (offset, length) = (wanted.offset, wanted.length());
        self.error("LOCK", Reason::Locked { offset, length, is_exclusive: true })
    }

    fn refusal(&self, operation: &'static str, answer: &Answer, wanted: HeldLock) -> Error {
        let status = match answer {
            Answer::Held { offset, length, is_exclusive, .. } => {
                let (offset, length, is_exclusive) = (*offset, *length, *is_exclusive);
                return self.error(operation, Reason::Locked { offset, length, is_exclusive });
            }
            Answer::Status(Wire::Denied | Wire::Deadlock | Wire::Blocked) => return self.denied(wanted),
            Answer::Status(Wire::Granted) => Status::Ok,
            Answer::Status(Wire::DeniedNoLocks) => Status::NoLocks,
            Answer::Status(Wire::DeniedGracePeriod) => Status::Grace,
            Answer::Status(Wire::RoFs) => Status::ReadOnly,
            Answer::Status(Wire::StaleFh) => Status::Stale,
            Answer::Status(Wire::FBig) => Status::FileTooBig,
            Answer::Status(Wire::Failed) => Status::ServerFault,
        };
        self.error(operation, Reason::Status(status))
    }
}

impl LockHolder for LockOwner {
    /// Other changes may go first during the server's grace period.
    async fn take(
        self: &Arc<Self>,
        wanted: HeldLock,
        is_over: impl Fn() -> bool + Send + Sync,
    ) -> Result<Vec<HeldLock>> {
        let mut patience = self.mount.patience();
        loop {
            match self.take_once(wanted).await {
                Err(error) if patience.allows(&error) && !is_over() => patience.wait().await,
                other => return other,
            }
        }
    }

    async fn release(self: &Arc<Self>, range: HeldLock) -> Result<()> {
        let mut patience = self.mount.patience();
        loop {
            match self.release_once(range).await {
                Err(error) if patience.allows(&error) => patience.wait().await,
                other => return other,
            }
        }
    }

    fn connection(&self) -> &Connection {
        self.mount.connection()
    }
}

/// The locks of one open file. Dropping this releases them.
#[derive(Debug)]
pub(crate) struct FileLocks(Arc<LockOwner>);

impl FileLocks {
    pub(crate) fn new(mount: &Mount, handle: &Handle) -> FileLocks {
        FileLocks(Arc::new(LockOwner::new(mount, handle)))
    }

    /// Locks a range if no other lock conflicts.
    pub(crate) async fn try_lock(&self, wanted: HeldLock) -> Result<Grant<LockOwner>> {
        grant::try_lock(&self.0, wanted).await
    }

    /// Whether anything is or may be locked, or a lock was lost.
    pub(crate) fn has_any(&self) -> bool {
        !self.0.held().has_none()
    }

    /// Fails while a lock of the file is lost.
    pub(crate) fn check_kept(&self, operation: &'static str) -> Result<()> {
        self.0.check_kept(operation)
    }

    /// The error for the lock that conflicts with `wanted`.
    pub(crate) async fn whose(&self, wanted: HeldLock) -> Error {
        self.0.whose(wanted).await
    }

    /// Tests whether a range could be locked.
    pub(crate) async fn test(&self, wanted: HeldLock) -> Result<()> {
        let mut patience = self.0.mount.patience();
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

    /// Unlocks a range, even if the caller is dropped. Unlocked parts stay unlocked.
    pub(crate) async fn unlock(&self, range: HeldLock) -> Result<()> {
        let owner = Arc::clone(&self.0);
        let closed = |_| self.0.error("UNLOCK", Reason::NoReply(Failure::Closed));
        tokio::spawn(async move { owner.release(range).await }).await.map_err(closed)?
    }

    /// Releases all locks.
    pub(crate) async fn close(&self) -> Result<()> {
        self.unlock(HeldLock::everything()).await
    }
}

impl Drop for FileLocks {
    fn drop(&mut self) {
        if self.0.held().has_none() {
            return;
        }
        let owner = Arc::clone(&self.0);
        self.0.mount.connection().spawn(async move {
            if let Err(error) = owner.release(HeldLock::everything()).await {
                tracing::warn!(%error, "locks of a file that was dropped stay");
            }
        });
    }
}
