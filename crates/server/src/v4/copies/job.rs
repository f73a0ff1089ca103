//! One copy: its files, its client and its progress.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use peer::Peer;
use proto::nfs4::{FileHandle, Stateid, Status, Verifier};
use state::{ClientId, FileKey, Origin};
use vfs::CopyRange;

use crate::identity::Identity;
use crate::remote_files::{RemoteFile, RemoteName};

/// The client that requested a copy.
#[derive(Debug, Clone, Copy)]
pub(in crate::v4) struct CopyClient {
    pub(in crate::v4) client: ClientId,
    pub(in crate::v4) peer: Peer,
    pub(in crate::v4) identity: Identity<'static>,
}

impl CopyClient {
    /// The origin that its copies are counted under.
    pub(in crate::v4) fn origin(&self) -> Origin {
        Origin::of(self.peer.address.ip())
    }
}

/// A file, and the stateid that it is read or written under.
#[derive(Debug, Clone, Copy)]
pub(in crate::v4) struct CopyFile {
    /// The export that the client used, whose rules apply.
    pub(in crate::v4) export: u64,
    pub(in crate::v4) file: FileKey,
    pub(in crate::v4) stateid: Stateid,
}

/// The source of a copy.
#[derive(Debug, Clone, Copy)]
pub(in crate::v4) enum CopyOrigin {
    /// A file of this server.
    Here(CopyFile),
    /// A file of another server.
    There(RemoteName),
}

impl CopyFile {
    /// The stateid for later use: an OPEN may increment the seqid meanwhile, and 0 means the newest (RFC 8881 §8.2.2).
    pub(in crate::v4) fn newest_stateid(&self) -> Stateid {
        match self.stateid {
            special @ (Stateid::ANONYMOUS | Stateid::READ_BYPASS) => special,
            Stateid { other, .. } => Stateid { seqid: 0, other },
        }
    }
}

/// A requested copy.
#[derive(Debug)]
pub(in crate::v4) struct CopyRequest {
    pub(in crate::v4) asker: CopyClient,
    pub(in crate::v4) source: CopyOrigin,
    pub(in crate::v4) destination: CopyFile,
    /// The destination's handle.
    pub(in crate::v4) handle: FileHandle,
    pub(in crate::v4) range: CopyRange,
    /// The write verifier at the start of the copy: the client compares it with a later one to detect lost writes.
    pub(in crate::v4) verifier: Verifier,
}

/// The end of a copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct CopyEnd {
    pub(super) status: Status,
    pub(super) at: Duration,
}

/// A copy that has begun.
pub(in crate::v4) struct CopyJob {
    pub(super) what: CopyRequest,
    pub(in crate::v4) stateid: Stateid,
    copied_bytes: AtomicU64,
    is_cancelled: AtomicBool,
    end: OnceLock<CopyEnd>,
    /// Whether the client learned the end by OFFLOAD_STATUS.
    is_seen: AtomicBool,
    /// Whether a CB_OFFLOAD is in progress.
    is_notifying: AtomicBool,
    /// Held during a turn.
    turn: Mutex<()>,
    /// The source on another server, once it is open.
    pub(super) remote: Mutex<Option<Box<dyn RemoteFile>>>,
}

impl fmt::Debug for CopyJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyJob").field("what", &self.what).field("stateid", &self.stateid).finish_non_exhaustive()
    }
}

impl CopyJob {
    pub(super) fn new(what: CopyRequest, stateid: Stateid) -> CopyJob {
        CopyJob {
            what,
            stateid,
            copied_bytes: AtomicU64::new(0),
            is_cancelled: AtomicBool::new(false),
            end: OnceLock::new(),
            is_seen: AtomicBool::new(false),
            is_notifying: AtomicBool::new(false),
            turn: Mutex::new(()),
            remote: Mutex::new(None),
        }
    }

    /// The number of bytes copied so far.
    pub(in crate::v4) fn copied_bytes(&self) -> u64 {
        self.copied_bytes.load(Ordering::Acquire)
    }

    /// The result of the copy, if it has ended.
    pub(in crate::v4) fn outcome(&self) -> Option<Status> {
        self.end.get().map(|end| end.status)
    }

    pub(super) fn end(&self) -> Option<&CopyEnd> {
        self.end.get()
    }

    pub(super) fn finish(&self, status: Status, at: Duration) {
        // The first end counts.
        let _ = self.end.set(CopyEnd { status, at });
        self.remote.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Records that the client learned the end by OFFLOAD_STATUS.
    pub(in crate::v4) fn set_seen(&self) {
        self.is_seen.store(true, Ordering::Release);
    }

    pub(super) fn is_seen(&self) -> bool {
        self.is_seen.load(Ordering::Acquire)
    }

    /// Sets whether a CB_OFFLOAD is in progress, and returns the previous value.
    pub(super) fn set_notifying(&self, is_notifying: bool) -> bool {
        self.is_notifying.swap(is_notifying, Ordering::AcqRel)
    }

    /// Prevents further turns.
    pub(in crate::v4) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    /// The remaining range.
    pub(super) fn rest(&self) -> CopyRange {
        let (done, range) = (self.copied_bytes(), &self.what.range);
        CopyRange {
            from_bytes: range.from_bytes + done,
            to_bytes: range.to_bytes + done,
            length_bytes: range.length_bytes - done,
        }
    }

    pub(super) fn add(&self, count: u64) {
        self.copied_bytes.fetch_add(count, Ordering::AcqRel);
    }

    /// Waits for the end of the current turn, if any, and blocks the next one while the guard is held.
    pub(in crate::v4) fn between_turns(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
