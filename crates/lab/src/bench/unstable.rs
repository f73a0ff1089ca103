//! What was written and may still be lost.

use client::{WriteVerifier, Written};
use vfs::Stability;

/// Writes that are not on stable storage yet. Those that came with another verifier than the latest may be lost (RFC
/// 1813 §3.3.7).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unstable {
    latest: Option<WriteVerifier>,
    /// How many came with the latest verifier.
    writes: u64,
    /// How many came with an earlier one.
    lost: u64,
}

impl Unstable {
    /// Counts what a WRITE wrote, unless it is on stable storage.
    pub(super) fn record(&mut self, written: &Written) {
        if written.stability == Stability::Unstable {
            self.meet(written.verifier);
            self.writes += 1;
        }
    }

    /// Counts what `other` has, which was written later.
    pub(super) fn merge(&mut self, other: Unstable) {
        if let Some(verifier) = other.latest {
            self.meet(verifier);
        }
        self.writes += other.writes;
        self.lost += other.lost;
    }

    /// Whether a COMMIT is needed.
    pub(super) fn is_empty(&self) -> bool {
        self.latest.is_none()
    }

    /// How many writes may be lost after a COMMIT that came with this verifier.
    pub(super) fn lost_after(mut self, committed: WriteVerifier) -> u64 {
        self.meet(committed);
        self.lost
    }

    fn meet(&mut self, verifier: WriteVerifier) {
        if self.latest.is_some_and(|latest| latest != verifier) {
            self.lost += std::mem::take(&mut self.writes);
        }
        self.latest = Some(verifier);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(verifiers: &[u8]) -> Unstable {
        let mut all = Unstable::default();
        for verifier in verifiers {
            let mut one = Unstable::default();
            one.meet(WriteVerifier([*verifier; 8]));
            one.writes = 1;
            all.merge(one);
        }
        all
    }

    #[test]
    fn verifier_that_changes_in_the_middle_loses_what_came_before_it() {
        let lost = |verifiers: &[u8], committed| written(verifiers).lost_after(WriteVerifier([committed; 8]));
        assert_eq!(lost(&[1, 1, 1], 1), 0);
        assert_eq!(lost(&[1, 1, 1], 2), 3);
        assert_eq!(lost(&[1, 1, 2], 2), 2);
        assert_eq!(lost(&[1, 1, 2], 3), 3);
        assert_eq!(lost(&[], 3), 0);
        assert!(written(&[]).is_empty() && !written(&[1]).is_empty());
    }
}
