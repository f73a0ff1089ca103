//! What a delegation is (RFC 8881 §10.2). `delegate.rs` grants them.

use std::time::Duration;

use crate::Stateid;
use crate::account::Charge;

/// The kind of a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelegationKind {
    /// The client may open the file for reading and rely on its cache.
    Read,
    /// The client may also open it for writing and cache writes.
    Write,
}

/// The wish for a delegation in an OPEN (OPEN4_SHARE_ACCESS_WANT_*, RFC 8881 §18.16.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DelegationWant {
    /// No wish.
    #[default]
    NoPreference,
    /// A read delegation.
    Read,
    /// A write delegation.
    Write,
    /// Any delegation.
    Any,
    /// No delegation.
    None,
    /// No delegation, and an earlier wish is withdrawn.
    Cancel,
}

/// Whether an OPEN grants a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelegationAnswer {
    /// It does.
    Granted {
        /// The delegation.
        stateid: Stateid,
        /// Its kind.
        kind: DelegationKind,
    },
    /// It does not, and the client stated no wish.
    None,
    /// It does not, and the client stated a wish; NFSv4.1 reports the reason.
    Refused(WhyNoDelegation),
}

/// The reason for not granting a delegation (`why_no_delegation4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyNoDelegation {
    /// WND4_NOT_WANTED.
    NotWanted,
    /// WND4_CONTENTION: other clients use the file, or did recently.
    Contention,
    /// WND4_RESOURCE: a limit is reached, or the client cannot be called back.
    Resource,
    /// WND4_WRITE_DELEG_NOT_SUPP_FTYPE: the file is delegated for reading only.
    WriteNotSupported,
    /// WND4_CANCELLED.
    Cancelled,
}

/// One delegation.
#[derive(Debug)]
pub(crate) struct Delegation {
    pub kind: DelegationKind,
    /// The file's handle as its client knows it.
    pub handle: Box<[u8]>,
    /// The time of the first recall.
    pub recalled: Option<Duration>,
    /// The file's change attribute when the delegation was granted.
    pub change: u64,
    /// The lease that it counts as, if it needs one.
    pub _lease: Option<Charge>,
}

/// A write delegation of another client, which knows the file's size and change attribute (RFC 8881 §20.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteDelegation {
    /// The client to send CB_GETATTR to.
    pub client: crate::ClientId,
    /// The delegation.
    pub stateid: Stateid,
    /// The file's handle as its client knows it.
    pub handle: Box<[u8]>,
    /// The file's change attribute when the delegation was granted.
    pub change: u64,
}
