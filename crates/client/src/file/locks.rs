//! Locks on ranges of a file. A length of `u64::MAX` is everything from the offset on.

use std::time::Duration;

use proto::nfs4::LockType;

use super::File;
use crate::{Reason, Result};

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
    /// locked there already is replaced.
    ///
    /// # Errors
    /// What the server says; [`Reason::NotInVersion`] before NFSv4.
    pub async fn lock(&self, kind: LockKind, offset: u64, length: u64) -> Result<()> {
        let open = self.opened("LOCK")?;
        let mut pause = FIRST_PAUSE;
        loop {
            match open.lock(kind.wire(true), offset, length).await {
                Err(error) if matches!(error.reason(), Reason::Locked { .. }) => open.wait_for_lock(pause).await,
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
        self.opened("LOCK")?.lock(kind.wire(false), offset, length).await
    }

    /// Asks whether [`File::try_lock`] would succeed now.
    ///
    /// # Errors
    /// As those of [`File::try_lock`].
    pub async fn test_lock(&self, kind: LockKind, offset: u64, length: u64) -> Result<()> {
        self.opened("LOCKT")?.test_lock(kind.wire(false), offset, length).await
    }

    /// Unlocks `length` bytes from `offset` on. What is not locked stays so.
    ///
    /// # Errors
    /// What the server says; [`Reason::NotInVersion`] before NFSv4.
    pub async fn unlock(&self, offset: u64, length: u64) -> Result<()> {
        self.opened("LOCKU")?.unlock(offset, length).await
    }
}
