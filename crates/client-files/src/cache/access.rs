//! Access rights of users to files.

use std::sync::Arc;

use client_calls::Principal;

use super::answers::{Answers, FileState};
use crate::{Caching, Handle, Rights};

/// All rights per file and user.
#[derive(Debug)]
pub(crate) struct AccessCache(Answers<(Handle, Arc<Principal>), Rights>);

impl AccessCache {
    pub(crate) fn new(caching: &Caching) -> AccessCache {
        AccessCache(Answers::new(caching.max_entries.max(1), usize::MAX))
    }

    /// The rights, if they are known for this state of the file.
    pub(crate) fn look(&self, file: &Handle, user: &Arc<Principal>, state: FileState) -> Option<Rights> {
        self.0.look(&(*file, Arc::clone(user)), state)
    }

    /// Takes in the reply to an ACCESS for [`Rights::ALL`].
    pub(crate) fn learn(&self, file: &Handle, user: &Arc<Principal>, state: FileState, rights: Rights) {
        self.0.learn((*file, Arc::clone(user)), state, rights, 0);
    }
}
