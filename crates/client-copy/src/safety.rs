use client_files::{Copied, Handle, Mount, Result, WriteVerifier, Written};
use vfs::Stability;

/// How often a file is copied again because the server lost unstable data, before the copy fails.
pub(super) const MAX_RESENDS: u32 = 8;

/// Whether the server still has the written data (RFC 1813 §3.3.21).
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Safety {
    /// The verifier of the unstable data.
    verifier: Option<WriteVerifier>,
    /// Whether verifiers differed: the server restarted in between.
    is_torn: bool,
}

impl Safety {
    pub(super) fn note(&mut self, stability: Stability, verifier: WriteVerifier) {
        if stability == Stability::Unstable {
            self.is_torn |= self.verifier.is_some_and(|seen| seen != verifier);
            self.verifier = Some(verifier);
        }
    }

    pub(super) fn note_written(&mut self, written: &Written) {
        self.note(written.stability, written.verifier);
    }

    pub(super) fn note_copied(&mut self, copied: &Copied) {
        self.note(copied.stability, copied.verifier);
    }

    pub(super) fn join(&mut self, other: Safety) {
        self.is_torn |= other.is_torn;
        if let Some(verifier) = other.verifier {
            self.note(Stability::Unstable, verifier);
        }
    }

    /// Commits unstable data. Returns whether none of it was lost.
    pub(super) async fn settle(&self, mount: &Mount, file: &Handle) -> Result<bool> {
        match self.verifier {
            None => Ok(true),
            Some(_) if self.is_torn => Ok(false),
            Some(verifier) => Ok(mount.commit(file, 0, 0).await? == verifier),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_verifiers_are_a_loss_however_they_come_together() {
        let (one, other) = (WriteVerifier([1; 8]), WriteVerifier([2; 8]));
        let mut safety = Safety::default();
        safety.note(Stability::File, other);
        safety.note(Stability::Unstable, one);
        safety.note(Stability::Unstable, one);
        assert!(!safety.is_torn);
        let mut second = Safety::default();
        second.note(Stability::Unstable, other);
        safety.join(second);
        assert!(safety.is_torn);
        let mut third = Safety::default();
        third.join(safety);
        assert!(third.is_torn);
    }
}
