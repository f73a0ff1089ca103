//! What to open, and how.

use proto::nfs4::{
    Component, OpenClaim, SHARE_ACCESS_BOTH, SHARE_ACCESS_READ, SHARE_ACCESS_WRITE, SHARE_DENY_BOTH, SHARE_DENY_NONE,
    SHARE_DENY_READ, SHARE_DENY_WRITE,
};
use vfs::{CreateMode, SetAttributes};

use crate::Handle;

/// What to open, and how.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    pub(crate) target: Target,
    pub(crate) share: Share,
    /// How to create the file, if it may be created.
    pub(crate) create: Option<(CreateMode, SetAttributes)>,
}

/// Which file to open.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// This name in this directory.
    Name { dir: Handle, name: Vec<u8> },
    /// This file, only from 4.1 on (RFC 8881 §18.16.3, CLAIM_FH).
    File(Handle),
}

impl Target {
    /// The current file of the OPEN, and its claim.
    pub(super) fn claim(&self) -> (&Handle, OpenClaim<'_>) {
        match self {
            Target::Name { dir, name } => (dir, OpenClaim::Null(Component(name))),
            Target::File(file) => (file, OpenClaim::Fh),
        }
    }
}

/// The access of an open, and the access that it denies to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) access: u32,
    pub(crate) deny: u32,
}

impl Share {
    pub(crate) const READ: Share = Share { access: SHARE_ACCESS_READ, deny: SHARE_DENY_NONE };
    pub(crate) const WRITE: Share = Share { access: SHARE_ACCESS_WRITE, deny: SHARE_DENY_NONE };
    pub(crate) const BOTH: Share = Share { access: SHARE_ACCESS_BOTH, deny: SHARE_DENY_NONE };

    /// The same access, denying others to read or to write.
    pub(crate) fn denying(self, reads: bool, writes: bool) -> Share {
        let deny = match (reads, writes) {
            (true, true) => SHARE_DENY_BOTH,
            (true, false) => SHARE_DENY_READ,
            (false, true) => SHARE_DENY_WRITE,
            (false, false) => SHARE_DENY_NONE,
        };
        Share { deny, ..self }
    }
}
