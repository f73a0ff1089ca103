use std::fmt::Write;
use std::sync::Arc;

use crate::credentials::Principal;

/// Who has one file open, and who has locks in it. An owner has one file open at a time, so that every file that the
/// application opens is a state of its own, closed by itself; afterwards the owner is used again, so that a server of 4.0
/// need not have it confirmed anew.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    number: u64,
    /// As whom it opens and locks, always: servers may refuse an owner to anybody else.
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

    /// What it is called as one who opens.
    pub(super) fn open_name(&self) -> Name {
        self.name('o')
    }

    /// What it is called as one who locks.
    pub(super) fn lock_name(&self) -> Name {
        self.name('l')
    }

    fn name(&self, kind: char) -> Name {
        let mut name = Name::with_capacity(24);
        // A string takes whatever is written to it.
        let _ = write!(name, "{kind}{}", self.number);
        name
    }
}
