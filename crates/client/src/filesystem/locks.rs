//! Locks of ranges of files, for owners that whoever calls this file system tells apart.
//!
//! At the server an open file has one owner of locks, so each owner here has the file open once more for as long as it has locks. That
//! also keeps its locks when the file is closed by others who share it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proto::nfs4;
use vfs::{Context, Error, FileLock, LockOutcome, LockOwner, OpenMode, Result};

use super::handles::{Known, Number};
use super::{Shared, open, status};
use crate::{File, LockKind, Reason, Status};

/// Everybody who has locks.
#[derive(Debug, Default)]
pub(super) struct Locks {
    table: Mutex<HashMap<(Number, LockOwner), Arc<Locker>>>,
    /// How many there are, for those who read and write where nobody locks.
    count: AtomicUsize,
}

/// An owner's own open file.
#[derive(Debug)]
struct Locker {
    file: File,
    /// Whether it has ever got a lock.
    has_locked: AtomicBool,
}

impl Locks {
    fn table(&self) -> MutexGuard<'_, HashMap<(Number, LockOwner), Arc<Locker>>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses to read and write a file while somebody has a lost lock of it: a file that is open here is shared by all who have it open,
    /// and which of them believes in the lock nobody tells.
    pub(super) fn check(&self, number: Number) -> Result<()> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let table = self.table();
        let mut lockers = table.iter().filter(|((of, _), _)| *of == number);
        lockers.try_for_each(|(_, locker)| locker.file.check_kept()).map_err(status::neutral)
    }

    fn get(&self, number: Number, owner: LockOwner) -> Option<Arc<Locker>> {
        self.table().get(&(number, owner)).cloned()
    }
}

/// Takes a lock, or says what is in the way.
pub(super) fn lock(
    shared: &Shared,
    cx: &Context<'_>,
    (known, owner): (&Known, LockOwner),
    wanted: FileLock,
) -> Result<LockOutcome> {
    let locker = match shared.locks.get(known.number, owner) {
        Some(locker) => locker,
        None => begin(shared, cx, known, owner)?,
    };
    let (offset, length) = (wanted.first_bytes, length(wanted.first_bytes, wanted.last_bytes));
    let asked = shared.wait_for(cx, locker.file.try_lock(kind(wanted), offset, length));
    let outcome = asked.and_then(judge);
    match outcome {
        Ok(LockOutcome::Free) => locker.has_locked.store(true, Ordering::Release),
        _ if !locker.has_locked.load(Ordering::Acquire) => forget(shared, (known.number, owner)),
        _ => {}
    }
    let_go(shared, locker);
    outcome
}

/// Whether a lock could be had.
pub(super) fn test(
    shared: &Shared,
    cx: &Context<'_>,
    (number, owner, open): (Number, LockOwner, &File),
    wanted: FileLock,
) -> Result<LockOutcome> {
    let locker = shared.locks.get(number, owner);
    // Without locks of its own it may ask as anybody.
    let file = locker.as_ref().map_or(open, |locker| &locker.file);
    let length = length(wanted.first_bytes, wanted.last_bytes);
    let outcome = shared.wait_for(cx, file.test_lock(kind(wanted), wanted.first_bytes, length));
    if let Some(locker) = locker {
        let_go(shared, locker);
    }
    outcome.and_then(judge)
}

/// Gives up what an owner has locked of a range.
pub(super) fn unlock(
    shared: &Shared,
    cx: &Context<'_>,
    (number, owner): (Number, LockOwner),
    (first, last): (u64, u64),
) -> Result<()> {
    let Some(locker) = shared.locks.get(number, owner) else { return Ok(()) };
    let unlocked = shared.wait_for(cx, locker.file.unlock(first, length(first, last)));
    if (first, last) == (0, u64::MAX) {
        forget(shared, (number, owner));
    }
    let_go(shared, locker);
    unlocked.and_then(|unlocked| unlocked.map_err(refusal))
}

fn begin(shared: &Shared, cx: &Context<'_>, known: &Known, owner: LockOwner) -> Result<Arc<Locker>> {
    let file = match open::open_at_server(shared, cx, known, OpenMode::Write) {
        // Who may only read may have shared locks.
        Err(Error::AccessDenied | Error::NotPermitted | Error::ReadOnly) => {
            open::open_at_server(shared, cx, known, OpenMode::Read)?
        }
        other => other?,
    };
    let locker = Arc::new(Locker { file, has_locked: AtomicBool::new(false) });
    // Another thread of the same owner may have been faster; its file is the one that counts.
    let mut table = shared.locks.table();
    let locker = Arc::clone(table.entry((known.number, owner)).or_insert(locker));
    shared.locks.count.store(table.len(), Ordering::Relaxed);
    Ok(locker)
}

/// Notes that an owner has no locks any more.
fn forget(shared: &Shared, key: (Number, LockOwner)) {
    let locker = {
        let mut table = shared.locks.table();
        let locker = table.remove(&key);
        shared.locks.count.store(table.len(), Ordering::Relaxed);
        locker
    };
    if let Some(locker) = locker {
        let_go(shared, locker);
    }
}

/// Whoever uses an owner's file last closes it, which gives up all that is locked by it: one who asked for a lock while the owner gave up
/// everything may have got it afterwards. That nobody waits for the answer harms nobody.
fn let_go(shared: &Shared, locker: Arc<Locker>) {
    if let Some(locker) = Arc::into_inner(locker) {
        shared.run(async move {
            if let Err(error) = locker.file.close().await {
                tracing::debug!(%error, "cannot close a file that was open for locks");
            }
        });
    }
}

fn judge(outcome: crate::Result<()>) -> Result<LockOutcome> {
    match outcome {
        Ok(()) => Ok(LockOutcome::Free),
        Err(error) => match *error.reason() {
            Reason::Locked { offset, length } => {
                let last_bytes = offset.saturating_add(length.saturating_sub(1));
                Ok(LockOutcome::Taken(FileLock { first_bytes: offset, last_bytes, exclusive: true }))
            }
            _ => Err(refusal(error)),
        },
    }
}

/// Why LOCK, LOCKT or LOCKU failed. RESOURCE (RFC 7530 §13.1.3.4) is what NLM4_DENIED_NOLOCKS is. From NFSv4.1 on LOCK has no
/// status for a full table (RFC 8881 §15.2): servers answer SERVERFAULT, which the client translates to an error that fits the
/// request (§15.1.1.6), and for a remote lock that fails this is ENOLCK (fcntl(2)).
fn refusal(error: crate::Error) -> Error {
    match error.reason() {
        Reason::Status(Status::V4(nfs4::Status::Resource) | Status::ServerFault) => Error::NoLocks,
        _ => status::neutral(error),
    }
}

fn kind(lock: FileLock) -> LockKind {
    if lock.exclusive { LockKind::Exclusive } else { LockKind::Shared }
}

/// The length of a range as the protocol has it: all ones for everything from its first byte on.
fn length(first: u64, last: u64) -> u64 {
    if last == u64::MAX { u64::MAX } else { last.saturating_sub(first).saturating_add(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(reason: Reason) -> Error {
        refusal(crate::Error::new(&"server".into(), "LOCK", reason))
    }

    #[test]
    fn server_without_room_for_another_lock_is_enolck_in_every_minor_version() {
        assert!(matches!(of(Reason::Status(Status::V4(nfs4::Status::Resource))), Error::NoLocks), "NFSv4.0");
        assert!(matches!(of(Reason::Status(Status::ServerFault)), Error::NoLocks), "from NFSv4.1 on");
        assert!(matches!(of(Reason::Status(Status::NoLocks)), Error::NoLocks), "NLM");
        assert!(matches!(of(Reason::Status(Status::Stale)), Error::Stale));
    }
}
