//! The messages that the server must send to clients by itself.

use crate::{ByteRange, ClientId, FileKey, Stateid};

/// One message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// CB_RECALL. It is repeated when a callback path comes up.
    Recall(Recall),
    /// CB_NOTIFY_LOCK (RFC 8881 §20.11): a refused lock may be available now. NFSv4.1 only.
    NotifyLock(LockNotice),
    /// NLM_GRANTED: a waiting host now holds its lock. If the host refuses it, unlock it.
    NlmGranted(Box<NlmGranted>),
}

/// A delegation that its client must return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recall {
    /// The client to call.
    pub client: ClientId,
    /// The delegation.
    pub stateid: Stateid,
    /// The file.
    pub file: FileKey,
    /// The file's handle as the client knows it: [`OpenArgs::handle`](crate::OpenArgs::handle).
    pub handle: Box<[u8]>,
}

/// A lock that may be available now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockNotice {
    /// The client to call.
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
    /// The data that the host's request was stored with: its cookie, protocol version and whatever the answer requires.
    pub cookie: Box<[u8]>,
    /// The file.
    pub file: FileKey,
    /// The requested range.
    pub range: ByteRange,
    /// Whether the lock is exclusive.
    pub exclusive: bool,
}
