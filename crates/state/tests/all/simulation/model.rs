//! What clients assume that they hold, and that no two assumptions that may be true conflict.

use std::time::Duration;

use state::{DelegationKind, ShareAccess, ShareDeny, Stateid};

pub const FILES: usize = 3;
pub const BYTES: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Locked {
    #[default]
    No,
    Shared,
    Exclusive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    pub stateid: Stateid,
    pub access: ShareAccess,
    pub deny: ShareDeny,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deleg {
    pub stateid: Stateid,
    pub kind: DelegationKind,
    /// When the server asked for it back: it may be taken some time after that.
    pub recalled: Option<Duration>,
}

/// One client's belief about one file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Belief {
    pub open: Option<Open>,
    pub lock: Option<Stateid>,
    pub bytes: [Locked; BYTES],
    pub deleg: Option<Deleg>,
}

impl Belief {
    pub fn close(&mut self) {
        self.open = None;
        self.unlock_all();
    }

    pub fn unlock_all(&mut self) {
        self.lock = None;
        self.bytes = Default::default();
    }

    /// Runs of equal locks, as a client would reclaim them.
    pub fn runs(&self) -> Vec<(usize, usize, bool)> {
        let mut runs: Vec<(usize, usize, bool)> = Vec::new();
        for (at, locked) in self.bytes.iter().enumerate().filter(|(_, locked)| **locked != Locked::No) {
            let exclusive = *locked == Locked::Exclusive;
            match runs.last_mut() {
                Some((first, length, kind)) if *first + *length == at && *kind == exclusive => *length += 1,
                _ => runs.push((at, 1, exclusive)),
            }
        }
        runs
    }
}

pub type Beliefs = [Belief; FILES];

/// The first conflict between two clients' beliefs.
pub fn conflict(a: &Beliefs, b: &Beliefs) -> Option<String> {
    (0..FILES).find_map(|file| {
        let (a, b) = (&a[file], &b[file]);
        let one_way = |a: &Belief, b: &Belief| {
            let opens = a.open.zip(b.open).is_some_and(|(a, b)| a.access.is_denied_by(b.deny));
            let deleg = a.deleg.is_some_and(|deleg| {
                let write = deleg.kind == DelegationKind::Write;
                let open = b
                    .open
                    .is_some_and(|open| write || open.access.writes() || ShareAccess::READ.is_denied_by(open.deny));
                let lock = b.bytes.iter().any(|locked| *locked > if write { Locked::No } else { Locked::Shared });
                open || lock || b.deleg.is_some_and(|other| write || other.kind == DelegationKind::Write)
            });
            let bytes = a.bytes.iter().zip(&b.bytes);
            let locks = bytes.into_iter().any(|(a, b)| *a == Locked::Exclusive && *b != Locked::No);
            opens || deleg || locks
        };
        (one_way(a, b) || one_way(b, a)).then(|| format!("file {file}: {a:?} against {b:?}"))
    })
}
