//! Targets of symbolic links.

use std::sync::Arc;

use super::answers::{Answers, FileState};
use crate::{Caching, Handle};

/// The most bytes of targets that are kept.
pub(super) const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Targets of many links.
#[derive(Debug)]
pub(crate) struct SymlinkCache(Answers<Handle, Arc<[u8]>>);

impl SymlinkCache {
    pub(crate) fn new(caching: &Caching) -> SymlinkCache {
        SymlinkCache(Answers::new(caching.max_entries.max(1), MAX_BYTES))
    }

    /// The target, if it is known for this state of the link.
    pub(crate) fn look(&self, link: &Handle, state: FileState) -> Option<Arc<[u8]>> {
        self.0.look(link, state)
    }

    pub(crate) fn learn(&self, link: &Handle, state: FileState, target: Arc<[u8]>) {
        let bytes = target.len();
        self.0.learn(*link, state, target, bytes);
    }
}
