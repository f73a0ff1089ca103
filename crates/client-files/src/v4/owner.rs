use std::fmt::Write;
use std::sync::Arc;

use client_calls::Principal;

/// The owner of an open file and of its locks. An owner has one file open at a time, so that each open is a state of
/// its own and is closed by itself. Owners are reused, so that a 4.0 server need not confirm a new one.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    number: u64,
    /// The user who opens and locks, always: servers may refuse an owner to other users.
    pub(super) principal: Arc<Principal>,
    /// The next sequence numbers of 4.0 (RFC 7530 §9.1.7).
    pub(super) open_seqid: u32,
    pub(super) lock_seqid: u32,
}

/// The name of an owner on the wire.
pub(super) type Name = String;

impl Owner {
    pub(super) fn new(number: u64, principal: &Arc<Principal>) -> Owner {
        Owner { number, principal: Arc::clone(principal), open_seqid: 1, lock_seqid: 1 }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The name as an open owner.
    pub(super) fn open_name(&self) -> Name {
        self.name('o')
    }

    /// The name as a lock owner.
    pub(super) fn lock_name(&self) -> Name {
        self.name('l')
    }

    fn name(&self, kind: char) -> Name {
        let mut name = Name::with_capacity(24);
        // Writing to a string cannot fail.
        let _ = write!(name, "{kind}{}", self.number);
        name
    }
}
