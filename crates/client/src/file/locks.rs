//! Locks on ranges of a file. A length of `u64::MAX` is everything from the offset on.

use std::time::Duration;

use proto::nfs4::LockType;

use super::File;
use crate::v4::HeldLock;
use crate::{Reason, Result, Status};

/// How long a lock that somebody else has is left alone before it is asked for again: at first, and at most. A server of 4.1
/// may tell earlier.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Kinds of locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// Others may have shared locks too.
    Shared,
    /// Nobody else may have one.
    Exclusive,
}

impl LockKind {
    fn wire(self, waits: bool) -> LockType {
        match (self, waits) {
            (LockKind::Shared, false) => LockType::Read,
            (LockKind::Shared, true) => LockType::ReadWait,
            (LockKind::Exclusive, false) => LockType::Write,
            (LockKind::Exclusive, true) => LockType::WriteWait,
        }
    }
}

impl File {
    /// Locks `length` bytes from `offset` on, and waits for as long as somebody else's lock is in the way. What this file has
    /// locked there already is replaced. A future that is dropped gives the lock back that it gets all the same.
    ///
    /// Data that others wrote before they let their locks go is seen from then on.
    ///
    /// A lock that the server loses for good, as in a restart after which it cannot be reclaimed, is a lost one until it is unlocked or the
    /// file is closed; so long the file is neither read nor written nor locked.
    ///
    /// # Errors
    /// What the server says; [`Reason::StateLost`] when it lost earlier locks of this file for good.
    pub async fn lock(&self, kind: LockKind, offset: u64, length: u64) -> Result<()> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.lock_once(kind, (offset, length), true).await {
                Err(error) if matches!(error.reason(), Reason::Locked { .. }) => self.wait_for_lock(pause).await,
                other => return other,
            }
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Locks `length` bytes from `offset` on if nobody else's lock is in the way.
    ///
    /// # Errors
    /// [`Reason::Locked`] when one is; otherwise as [`File::lock`].
    pub async fn try_lock(&self, kind: LockKind, offset: u64, length: u64) -> Result<()> {
        self.lock_once(kind, (offset, length), false).await
    }

    async fn lock_once(&self, kind: LockKind, (offset, length): (u64, u64), waits: bool) -> Result<()> {
        match &self.io.locks {
            Some(locks) => {
                let wanted = self.range(kind, offset, length)?;
                match locks.try_lock(wanted).await {
                    // The lock manager does not say whose it is, and whoever asks again does not ask.
                    Err(error) if matches!(error.reason(), Reason::Locked { .. }) && !waits => {
                        return Err(locks.whose(wanted).await);
                    }
                    grant => {
                        let grant = grant?;
                        self.see_what_others_wrote().await?;
                        grant.keep();
                    }
                }
            }
            None => {
                let grant = self.opened("LOCK")?.lock(kind.wire(waits), offset, length).await?;
                self.see_what_others_wrote().await?;
                grant.keep();
            }
        }
        Ok(())
    }

    /// Forgets what others may have changed before they let their locks go.
    async fn see_what_others_wrote(&self) -> Result<()> {
        self.settle().await?;
        self.getattr().await?;
        self.forget_data();
        Ok(())
    }

    async fn wait_for_lock(&self, at_most: Duration) {
        match &self.open {
            Some(open) => open.wait_for_lock(at_most).await,
            None => tokio::time::sleep(at_most).await,
        }
    }

    /// Asks whether [`File::try_lock`] would succeed now.
    ///
    /// # Errors
    /// As those of [`File::try_lock`].
    pub async fn test_lock(&self, kind: LockKind, offset: u64, length: u64) -> Result<()> {
        match &self.io.locks {
            Some(locks) => locks.test(self.range(kind, offset, length)?).await,
            None => self.opened("LOCKT")?.test_lock(kind.wire(false), offset, length).await,
        }
    }

    /// Unlocks `length` bytes from `offset` on, after what was changed is with the server. What is not locked stays so.
    ///
    /// # Errors
    /// What the server says, of the lock or of a write before.
    pub async fn unlock(&self, offset: u64, length: u64) -> Result<()> {
        let flushed = self.settle().await;
        let unlocked = match &self.io.locks {
            Some(locks) => locks.unlock(self.range(LockKind::Exclusive, offset, length)?).await,
            None => self.opened("LOCKU")?.unlock(offset, length).await,
        };
        flushed.and(unlocked)
    }

    /// A range as the lock manager has it, where none is empty.
    fn range(&self, kind: LockKind, offset: u64, length: u64) -> Result<HeldLock> {
        match length {
            0 => Err(self.mount.error("LOCK", Reason::Status(Status::Invalid))),
            _ => Ok(HeldLock::new(kind.wire(false), offset, length)),
        }
    }
}
