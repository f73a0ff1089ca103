//! Locks on ranges of a file. A length of `u64::MAX` means everything from the offset on.

use std::time::Duration;

use proto::nfs4::LockType;

use super::File;
use crate::v4::HeldLock;
use crate::{Reason, Result, Status};

/// The pause before a lock held by another owner is requested again: the first, and the longest. A server of NFSv4.1
/// may notify earlier.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Kinds of locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// Other owners may hold shared locks too.
    Shared,
    /// No other owner may hold a lock.
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
    /// Locks `length` bytes from `offset` on, and waits while another owner's lock conflicts. Replaces this file's own
    /// locks there. If the future is dropped, a lock granted later is released.
    ///
    /// Reads after this call see all data that others wrote before they released their locks.
    ///
    /// A lock that the server loses for good, such as after a restart when it cannot be reclaimed, stays lost until it
    /// is unlocked or the file is closed. Until then reads, writes and locks of the file fail.
    ///
    /// # Errors
    /// The error of the server; [`Reason::StateLost`] if it lost earlier locks of this file for good.
    pub async fn lock(&self, kind: LockKind, offset: u64, length: u64) -> Result<()> {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.lock_once(kind, offset, length, true).await {
                Err(error) if matches!(error.reason(), Reason::Locked { .. }) => self.wait_for_lock(pause).await,
                other => return other,
            }
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Locks `length` bytes from `offset` on if no other owner's lock conflicts.
    ///
    /// # Errors
    /// [`Reason::Locked`] if one does; otherwise as for [`File::lock`].
    pub async fn try_lock(&self, kind: LockKind, offset: u64, length: u64) -> Result<()> {
        self.lock_once(kind, offset, length, false).await
    }

    async fn lock_once(&self, kind: LockKind, offset: u64, length: u64, waits: bool) -> Result<()> {
        match &self.io.locks {
            Some(locks) => {
                let wanted = self.range(kind, offset, length)?;
                match locks.try_lock(wanted).await {
                    // NLM does not tell the holder; a caller that retries does not need it.
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

    /// Invalidates data that others may have changed before they released their locks.
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

    /// Tests whether [`File::try_lock`] would succeed now.
    ///
    /// # Errors
    /// As for [`File::try_lock`].
    pub async fn test_lock(&self, kind: LockKind, offset: u64, length: u64) -> Result<()> {
        match &self.io.locks {
            Some(locks) => locks.test(self.range(kind, offset, length)?).await,
            None => self.opened("LOCKT")?.test_lock(kind.wire(false), offset, length).await,
        }
    }

    /// Unlocks `length` bytes from `offset` on, after all changes are at the server. Bytes without a lock stay
    /// unlocked.
    ///
    /// # Errors
    /// The error of the server, for the unlock or an earlier write.
    pub async fn unlock(&self, offset: u64, length: u64) -> Result<()> {
        let flushed = self.settle().await;
        let unlocked = match &self.io.locks {
            Some(locks) => locks.unlock(self.range(LockKind::Exclusive, offset, length)?).await,
            None => self.opened("LOCKU")?.unlock(offset, length).await,
        };
        flushed.and(unlocked)
    }

    /// A range for NLM; an empty one is invalid.
    fn range(&self, kind: LockKind, offset: u64, length: u64) -> Result<HeldLock> {
        match length {
            0 => Err(self.mount.error("LOCK", Reason::Status(Status::Invalid))),
            _ => Ok(HeldLock::new(kind.wire(false), offset, length)),
        }
    }
}
