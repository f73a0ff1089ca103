//! What the server must send to clients on its own account.

use crate::{ByteRange, ClientId, FileKey, Stateid};

/// One thing to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// CB_RECALL. It comes again when a callback path comes up.
    Recall(Recall),
    /// CB_NOTIFY_LOCK (RFC 8881 §20.11): a lock that was refused may be had now. NFSv4.1 only.
    NotifyLock(LockNotice),
    /// NLM_GRANTED: a lock that was waited for is held now. If the host does not want it any more, unlock it.
    NlmGranted(Box<NlmGranted>),
}

/// A delegation that its client is to return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recall {
    /// Whom to send it to.
    pub client: ClientId,
    /// The delegation.
    pub stateid: Stateid,
    /// The file.
    pub file: FileKey,
    /// What the client knows the file by: [`OpenArgs::handle`](crate::OpenArgs::handle).
    pub handle: Box<[u8]>,
}

/// A lock that may be had now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockNotice {
    /// Whom to send it to.
    pub client: ClientId,
    /// The lock owner.
    pub owner: Box<[u8]>,
    /// The file.
    pub file: FileKey,
}

/// A lock that was granted to a waiting host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NlmGranted {
    /// The host's name.
    pub host: Box<[u8]>,
    /// The lock owner's name on that host.
    pub owner: Box<[u8]>,
    /// What the host's request was marked with: its cookie, protocol version and whatever else the answer needs.
    pub cookie: Box<[u8]>,
    /// The file.
    pub file: FileKey,
    /// The range that was asked for.
    pub range: ByteRange,
    /// Whether the lock is exclusive.
    pub exclusive: bool,
}
