//! The names in a directory.
//!
//! The cookie of an entry is unique for the life of the directory. So a listing that continues after a cookie is right,
//! whatever was added or removed meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use crate::node::MemNode;

/// The reported size of a directory is this times the number of names.
const BYTES_PER_ENTRY: u64 = 32;

/// The cookie before the first entry; no entry has it.
const NO_COOKIE: u64 = 0;

/// One entry.
#[derive(Clone)]
pub(crate) struct Child {
    pub(crate) cookie: u64,
    pub(crate) name: Arc<[u8]>,
    pub(crate) node: Arc<MemNode>,
}

/// The entries of one directory.
#[derive(Default)]
pub(crate) struct Directory {
    cookies: HashMap<Arc<[u8]>, u64>,
    entries: BTreeMap<u64, Child>,
    last_cookie: u64,
}

impl Directory {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&Arc<MemNode>> {
        let cookie = self.cookies.get(name)?;
        self.entries.get(cookie).map(|child| &child.node)
    }

    /// Adds a name. An existing name keeps its cookie and leads to `node` from now on.
    pub(crate) fn insert(&mut self, name: &[u8], node: Arc<MemNode>) -> Option<Arc<MemNode>> {
        if let Some(child) = self.cookies.get(name).and_then(|cookie| self.entries.get_mut(cookie)) {
            return Some(std::mem::replace(&mut child.node, node));
        }
        self.last_cookie += 1;
        let name: Arc<[u8]> = Arc::from(name);
        self.cookies.insert(Arc::clone(&name), self.last_cookie);
        self.entries.insert(self.last_cookie, Child { cookie: self.last_cookie, name, node });
        None
    }

    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<Arc<MemNode>> {
        let cookie = self.cookies.remove(name)?;
        self.entries.remove(&cookie).map(|child| child.node)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.entries.len() as u64 * BYTES_PER_ENTRY
    }

    /// Whether this directory has ever used `cookie`, even if its entry was removed.
    pub(crate) fn gave(&self, cookie: u64) -> bool {
        (NO_COOKIE..=self.last_cookie).contains(&cookie)
    }

    /// Returns at most `limit` entries after the one with `cookie`.
    pub(crate) fn after(&self, cookie: u64, limit: usize) -> Vec<Child> {
        let later = (Bound::Excluded(cookie), Bound::Unbounded);
        self.entries.range(later).take(limit).map(|(_, child)| child.clone()).collect()
    }

    /// Takes all entries out.
    pub(crate) fn clear(&mut self) -> impl Iterator<Item = Arc<MemNode>> + use<> {
        self.cookies.clear();
        std::mem::take(&mut self.entries).into_values().map(|child| child.node)
    }
}
