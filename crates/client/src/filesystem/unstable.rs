//! Whether all that was written since the last COMMIT is still there.

use std::sync::{Mutex, MutexGuard, PoisonError};

use vfs::Stability;

use crate::{WriteVerifier, Written};

/// What was written to a file and not committed, by all who have it open.
#[derive(Debug, Default)]
pub(super) struct Unstable(Mutex<State>);

#[derive(Debug, Default, Clone, Copy)]
enum State {
    /// Nothing.
    #[default]
    Clean,
    /// Something, under this verifier.
    Written(WriteVerifier),
    /// The server lost some of it.
    Lost,
}

impl Unstable {
    /// Notes what a WRITE did.
    pub(super) fn note(&self, written: &Written) {
        if written.stability != Stability::Unstable {
            return;
        }
        let mut state = self.lock();
        *state = match *state {
            State::Clean => State::Written(written.verifier),
            State::Written(verifier) if verifier == written.verifier => return,
            State::Written(_) | State::Lost => State::Lost,
        };
    }

    pub(super) fn is_clean(&self) -> bool {
        matches!(*self.lock(), State::Clean)
    }

    /// Ends with what a COMMIT said: whether everything is safe that was written before.
    pub(super) fn committed(&self, verifier: WriteVerifier) -> bool {
        match std::mem::take(&mut *self.lock()) {
            State::Clean => true,
            State::Written(written) => written == verifier,
            State::Lost => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(verifier: u8) -> Written {
        Written { count: 1, stability: Stability::Unstable, verifier: WriteVerifier([verifier; 8]) }
    }

    #[test]
    fn loss_between_two_writes_or_before_the_commit_is_told_once() {
        let unstable = Unstable::default();
        unstable.note(&written(1));
        unstable.note(&written(2));
        assert!(!unstable.committed(WriteVerifier([2; 8])));
        assert!(unstable.committed(WriteVerifier([2; 8])));
        unstable.note(&written(2));
        assert!(!unstable.committed(WriteVerifier([3; 8])));
        unstable.note(&written(3));
        assert!(unstable.committed(WriteVerifier([3; 8])) && unstable.is_clean());
    }

    #[test]
    fn what_is_stable_already_needs_no_commit() {
        let unstable = Unstable::default();
        unstable.note(&Written { stability: Stability::File, ..written(1) });
        assert!(unstable.is_clean());
    }
}
