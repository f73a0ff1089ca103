//! Locks on ranges of files, for lock owners that callers of this file system distinguish.
//!
//! At the server an open has one lock owner. So each owner here has its own open of the file for as long as it has
//! locks. This open also keeps the locks when others that share the file close it.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use client_files::{LockKind, Reason, Status};
use proto::nfs4;
use vfs::{Context, Error, FileLock, LockOutcome, LockOwner, OpenMode, Result};

use super::handles::{Known, Number};
use super::lockers::Locker;
use super::open::open_at_server;
use super::remote_file::RemoteFile;
use super::shared::Shared;
use super::status;

/// Requests a lock. Returns the conflicting lock if there is one.
pub(super) fn lock(
    shared: &Shared,
    cx: &Context<'_>,
    known: &Known,
    owner: LockOwner,
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
        _ if !locker.has_locked.load(Ordering::Acquire) => forget(shared, known.number, owner),
        _ => {}
    }
    let_go(shared, locker);
    outcome
}

/// Tests whether a lock would be granted.
pub(super) fn test(open: &RemoteFile, cx: &Context<'_>, owner: LockOwner, wanted: FileLock) -> Result<LockOutcome> {
    let (shared, open_file) = (open.shared(), open.file()?);
    let locker = shared.locks.get(open.number(), owner);
    // An owner without locks may ask through any open.
    let file = locker.as_ref().map_or(open_file, |locker| &locker.file);
    let length = length(wanted.first_bytes, wanted.last_bytes);
    let outcome = shared.wait_for(cx, file.test_lock(kind(wanted), wanted.first_bytes, length));
    if let Some(locker) = locker {
        let_go(shared, locker);
    }
    outcome.and_then(judge)
}

/// Releases an owner's locks within a range.
pub(super) fn unlock(
    shared: &Shared,
    cx: &Context<'_>,
    number: Number,
    owner: LockOwner,
    range_bytes: RangeInclusive<u64>,
) -> Result<()> {
    let Some(locker) = shared.locks.get(number, owner) else { return Ok(()) };
    let (first, last) = range_bytes.into_inner();
    let unlocked = shared.wait_for(cx, locker.file.unlock(first, length(first, last)));
    if (first, last) == (0, u64::MAX) {
        forget(shared, number, owner);
    }
    let_go(shared, locker);
    unlocked.and_then(|unlocked| unlocked.map_err(refusal))
}

fn begin(shared: &Shared, cx: &Context<'_>, known: &Known, owner: LockOwner) -> Result<Arc<Locker>> {
    let file = match open_at_server(shared, cx, known, OpenMode::Write) {
        // A user who may only read can still have shared locks.
        Err(Error::AccessDenied | Error::NotPermitted | Error::ReadOnly) => {
            open_at_server(shared, cx, known, OpenMode::Read)?
        }
        other => other?,
    };
    let locker = Locker { file, has_locked: AtomicBool::new(false) };
    Ok(shared.locks.add(known.number, owner, locker))
}

/// Removes an owner that has no locks any more.
fn forget(shared: &Shared, number: Number, owner: LockOwner) {
    if let Some(locker) = shared.locks.remove(number, owner) {
        let_go(shared, locker);
    }
}

/// Closes an owner's open after its last use, which releases all its locks: a lock may have been granted while the
/// owner released everything. Nobody needs the reply.
fn let_go(shared: &Shared, locker: Arc<Locker>) {
    if let Some(locker) = Arc::into_inner(locker) {
        shared.run(async move {
            if let Err(error) = locker.file.close().await {
                tracing::debug!(%error, "cannot close a file that was open for locks");
            }
        });
    }
}

fn judge(outcome: client_files::Result<()>) -> Result<LockOutcome> {
    match outcome {
        Ok(()) => Ok(LockOutcome::Free),
        Err(error) => match *error.reason() {
            Reason::Locked { offset, length, is_exclusive } => {
                let last_bytes = offset.saturating_add(length.saturating_sub(1));
                Ok(LockOutcome::Taken(FileLock { first_bytes: offset, last_bytes, exclusive: is_exclusive }))
            }
            _ => Err(refusal(error)),
        },
    }
}

/// The error of a failed LOCK, LOCKT or LOCKU. RESOURCE (RFC 7530 §13.1.3.4) corresponds to NLM4_DENIED_NOLOCKS. From
/// NFSv4.1 on LOCK has no status for a full table (RFC 8881 §15.2): servers answer SERVERFAULT, which the client
/// translates to an error that fits the request (§15.1.1.6). For a remote lock that fails this is ENOLCK (fcntl(2)).
fn refusal(error: client_files::Error) -> Error {
    match error.reason() {
        Reason::Status(Status::V4(nfs4::Status::Resource) | Status::ServerFault) => Error::NoLocks,
        _ => status::neutral(error),
    }
}

fn kind(lock: FileLock) -> LockKind {
    if lock.exclusive { LockKind::Exclusive } else { LockKind::Shared }
}

/// The length of a range in the protocol: all ones for everything from its first byte on.
fn length(first: u64, last: u64) -> u64 {
    if last == u64::MAX { u64::MAX } else { last.saturating_sub(first).saturating_add(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(reason: Reason) -> Error {
        refusal(client_files::Error::new(&"server".into(), "LOCK", reason))
    }

    #[test]
    fn server_without_room_for_another_lock_is_enolck_in_every_minor_version() {
        assert!(matches!(of(Reason::Status(Status::V4(nfs4::Status::Resource))), Error::NoLocks), "NFSv4.0");
        assert!(matches!(of(Reason::Status(Status::ServerFault)), Error::NoLocks), "from NFSv4.1 on");
        assert!(matches!(of(Reason::Status(Status::NoLocks)), Error::NoLocks), "NLM");
        assert!(matches!(of(Reason::Status(Status::Stale)), Error::Stale));
    }
}
