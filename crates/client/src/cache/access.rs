//! What the caller may do with files.

use super::answers::{Answers, FileState};
use crate::{Caching, Handle, Rights};

/// All rights of the caller, file by file.
#[derive(Debug)]
pub(crate) struct AccessCache(Answers<Rights>);

impl AccessCache {
    pub(crate) fn new(caching: &Caching) -> AccessCache {
        AccessCache(Answers::new(caching.max_entries.max(1), usize::MAX))
    }

    /// The rights, if they are known for this state of the file.
    pub(crate) fn look(&self, file: &Handle, state: FileState) -> Option<Rights> {
        self.0.look(file, state)
    }

    /// Takes in an answer to the question for [`Rights::ALL`].
    pub(crate) fn learn(&self, file: &Handle, state: FileState, rights: Rights) {
        self.0.learn(file, state, (rights, 0));
    }
}
