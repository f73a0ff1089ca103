use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::order::Order;
use vfs::{Attributes, Timestamp};

/// The state of a file for which an answer is valid: access rights depend on these attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    change: u64,
    changed: Timestamp,
    mode: u32,
    uid: u32,
    gid: u32,
}

impl FileState {
    pub(crate) fn of(attributes: &Attributes) -> FileState {
        let Attributes { change, changed, mode, uid, gid, .. } = *attributes;
        FileState { change, changed, mode, uid, gid }
    }
}

/// One answer per key, each valid for one state of its file.
#[derive(Debug)]
pub(super) struct Answers<K, T> {
    answers: Mutex<Kept<K, T>>,
    max_entries: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct Kept<K, T> {
    of: Order<K, Answer<T>>,
    bytes: usize,
}

#[derive(Debug)]
struct Answer<T> {
    state: FileState,
    value: T,
    bytes: usize,
}

impl<K: Clone + Eq + Hash, T: Clone> Answers<K, T> {
    pub(super) fn new(max_entries: usize, max_bytes: usize) -> Answers<K, T> {
        Answers { answers: Mutex::new(Kept { of: Order::default(), bytes: 0 }), max_entries, max_bytes }
    }

    /// The answer, if it is known for this state.
    pub(super) fn look(&self, about: &K, state: FileState) -> Option<T> {
        let mut kept = self.lock();
        kept.of.get(about).filter(|answer| answer.state == state).map(|answer| answer.value.clone())
    }

    /// Stores an answer that takes `bytes` beside its entry.
    pub(super) fn learn(&self, about: K, state: FileState, value: T, bytes: usize) {
        let mut kept = self.lock();
        kept.bytes += bytes;
        if let Some(old) = kept.of.insert(about, Answer { state, value, bytes }) {
            kept.bytes -= old.bytes;
        }
        while kept.of.len() > self.max_entries || kept.bytes > self.max_bytes {
            let Some((_, oldest)) = kept.of.pop_oldest() else { break };
            kept.bytes -= oldest.bytes;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept<K, T>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Handle;
    use vfs::FileKind;

    fn handle(number: u8) -> Handle {
        Handle::new(&[number]).unwrap()
    }

    fn state(mode: u32) -> FileState {
        FileState::of(&Attributes { mode, ..Attributes::new(FileKind::Regular, 1) })
    }

    #[test]
    fn answer_is_true_in_its_state_only() {
        let answers = Answers::new(10, 10);
        answers.learn(handle(1), state(0o600), "mine", 4);
        assert_eq!(answers.look(&handle(1), state(0o600)), Some("mine"));
        assert_eq!((answers.look(&handle(1), state(0o644)), answers.look(&handle(2), state(0o600))), (None, None));
        answers.learn(handle(1), state(0o644), "all's", 5);
        assert_eq!(answers.look(&handle(1), state(0o600)), None);
    }

    #[test]
    fn number_and_bytes_are_bounded() {
        let answers = Answers::new(3, 10);
        let kept = |answers: &Answers<Handle, u8>| {
            (0..100).filter(|it| answers.look(&handle(*it), state(0)).is_some()).count()
        };
        (0..100).for_each(|number| answers.learn(handle(number), state(0), number, 1));
        assert_eq!(kept(&answers), 3);
        (0..100).for_each(|number| answers.learn(handle(number), state(0), number, 5));
        assert_eq!(kept(&answers), 2);
        answers.learn(handle(7), state(0), 7, 11);
        assert_eq!((kept(&answers), answers.lock().bytes), (0, 0));
    }
}
