//! Aliases: handles of files that were lost in a power failure and recreated.
//!
//! Clients know such a file by its earlier handle (outer), and the file system by a new one (inner). All other files
//! have one handle for both.
//!
//! The file system may give the handle of a lost file to a later one, as XFS reuses numbers and generations that it has
//! forgotten. Such a file is offered under another handle, so that no handle of a client ever reaches another file. For
//! the same reason, the handles of files that were created, removed and then forgotten by the file system are kept as
//! handles of no file, and so are those of recreated files that were removed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vfs::{Error, Handle, Result};

/// A byte appended to a handle that is taken, or XORed into one that has no room.
const MARK: u8 = 0xa1;

/// The handles of one file system whose outer and inner values differ.
#[derive(Debug, Default)]
pub(crate) struct Aliases {
    /// Whether there are any. Nearly always there are none.
    any: AtomicBool,
    table: Mutex<AliasTable>,
}

#[derive(Debug, Default)]
struct AliasTable {
    inner_of: HashMap<Handle, Handle>,
    outer_of: HashMap<Handle, Handle>,
}

/// The handle under which a file is offered.
pub(crate) enum Outer {
    /// This handle.
    Known(Handle),
    /// The file's own handle belongs to another file. This one is free, and [`Aliases::insert`] assigns it.
    Free(Handle),
}

impl Aliases {
    pub(crate) fn insert(&self, outer: Handle, inner: Handle) {
        self.lock().insert(outer, inner);
        self.any.store(true, Ordering::Release);
    }

    /// Whether a file was recreated.
    pub(crate) fn has(&self, outer: &Handle) -> bool {
        self.lock().inner_of.contains_key(outer)
    }

    /// Returns the inner handle of a file.
    pub(crate) fn inner_of(&self, outer: &Handle) -> Result<Handle> {
        if !self.any.load(Ordering::Acquire) {
            return Ok(*outer);
        }
        let table = self.lock();
        match table.inner_of.get(outer) {
            Some(inner) if is_none(inner) => Err(Error::Stale),
            Some(inner) => Ok(*inner),
            None if table.outer_of.contains_key(outer) => Err(Error::Stale),
            None => Ok(*outer),
        }
    }

    /// Returns the outer handle of a file.
    pub(crate) fn outer_of(&self, inner: &Handle) -> Outer {
        if !self.any.load(Ordering::Acquire) {
            return Outer::Known(*inner);
        }
        let table = self.lock();
        match table.outer_of.get(inner) {
            Some(outer) => Outer::Known(*outer),
            None if table.inner_of.contains_key(inner) => Outer::Free(table.free_handle(inner)),
            None => Outer::Known(*inner),
        }
    }

    /// Returns all pairs of outer and inner handles.
    pub(crate) fn all(&self) -> Vec<(Handle, Handle)> {
        self.lock().inner_of.iter().map(|(outer, inner)| (*outer, *inner)).collect()
    }

    /// Makes the handles of recreated files that no longer exist handles of no file. The file system may give them to
    /// later files, also of another export.
    pub(crate) fn bury(&self, mut exists: impl FnMut(&Handle) -> bool) {
        for (outer, inner) in self.all() {
            if !is_none(&inner) && !exists(&inner) {
                let mut table = self.lock();
                table.inner_of.insert(outer, none());
                table.outer_of.remove(&inner);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, AliasTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AliasTable {
    fn insert(&mut self, outer: Handle, inner: Handle) {
        if let Some(before) = self.inner_of.insert(outer, inner)
            && self.outer_of.get(&before) == Some(&outer)
        {
            self.outer_of.remove(&before);
        }
        if !is_none(&inner)
            && let Some(earlier) = self.outer_of.insert(inner, outer)
            && earlier != outer
        {
            // That file is gone: the file system has reused its handle.
            self.inner_of.insert(earlier, none());
        }
    }

    fn free_handle(&self, taken: &Handle) -> Handle {
        (0..=u8::MAX)
            .filter_map(|number| marked(taken, number))
            .find(|handle| !self.inner_of.contains_key(handle) && !self.outer_of.contains_key(handle))
            .unwrap_or(*taken)
    }
}

/// The handle of no file.
pub(crate) fn none() -> Handle {
    Handle::new(&[]).unwrap_or_else(|| unreachable!("no bytes are not too many"))
}

fn is_none(inner: &Handle) -> bool {
    inner.as_bytes().is_empty()
}

fn marked(taken: &Handle, number: u8) -> Option<Handle> {
    let bytes = taken.as_bytes();
    let longer = [bytes, &[MARK, number]].concat();
    Handle::new(&longer).or_else(|| {
        let mut changed = bytes.to_vec();
        let last = changed.len().checked_sub(2)?;
        changed[last] ^= MARK;
        changed[last + 1] = changed[last + 1].wrapping_add(number);
        Handle::new(&changed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(aliases: &Aliases, inner: u64) -> Option<u64> {
        match aliases.outer_of(&Handle::from_u64(inner)) {
            Outer::Known(outer) => outer.to_u64(),
            Outer::Free(_) => None,
        }
    }

    #[test]
    fn lost_file_keeps_its_handle_and_its_new_one_reaches_nothing() {
        let aliases = Aliases::default();
        let (old, new) = (Handle::from_u64(1), Handle::from_u64(2));
        aliases.insert(old, new);
        assert_eq!(aliases.inner_of(&old).unwrap(), new);
        assert!(matches!(aliases.inner_of(&new), Err(Error::Stale)));
        assert_eq!((known(&aliases, 2), known(&aliases, 3)), (Some(1), Some(3)));
    }

    #[test]
    fn later_file_with_the_handle_of_a_lost_one_is_offered_under_another() {
        let aliases = Aliases::default();
        aliases.insert(Handle::from_u64(1), Handle::from_u64(2));
        let Outer::Free(free) = aliases.outer_of(&Handle::from_u64(1)) else { panic!("the handle is taken") };
        aliases.insert(free, Handle::from_u64(1));
        assert_eq!(aliases.inner_of(&free).unwrap(), Handle::from_u64(1));
        assert_eq!(aliases.inner_of(&Handle::from_u64(1)).unwrap(), Handle::from_u64(2));
    }

    #[test]
    fn handles_that_pass_from_one_lost_file_to_another_are_the_later_ones() {
        let aliases = Aliases::default();
        let [x, y, inner, other] = [1, 2, 3, 4].map(Handle::from_u64);
        aliases.insert(y, inner);
        aliases.insert(x, inner);
        aliases.insert(y, other);
        assert_eq!((known(&aliases, 3), known(&aliases, 4)), (Some(1), Some(2)));
        assert_eq!(aliases.inner_of(&x).unwrap(), inner);
    }

    #[test]
    fn handle_of_no_file_is_stale_and_is_not_given_again() {
        let aliases = Aliases::default();
        aliases.insert(Handle::from_u64(1), Handle::new(&[]).unwrap());
        assert!(matches!(aliases.inner_of(&Handle::from_u64(1)), Err(Error::Stale)));
        assert!(matches!(aliases.outer_of(&Handle::from_u64(1)), Outer::Free(_)));
    }

    #[test]
    fn handle_of_a_recreated_file_that_was_removed_reaches_no_later_file() {
        let aliases = Aliases::default();
        let (old, new) = (Handle::from_u64(1), Handle::from_u64(2));
        aliases.insert(old, new);
        aliases.bury(|_| false);
        assert!(matches!(aliases.inner_of(&old), Err(Error::Stale)), "a file of another export may have it");
        assert!(matches!(aliases.outer_of(&old), Outer::Free(_)));
        assert_eq!((known(&aliases, 2), aliases.inner_of(&new).unwrap()), (Some(2), new));
    }

    #[test]
    fn handle_without_room_for_a_mark_gets_another_of_its_length() {
        let full = Handle::new(&[7; Handle::MAX_BYTES]).unwrap();
        let marks: std::collections::HashSet<_> = (0..=u8::MAX).filter_map(|n| marked(&full, n)).collect();
        assert_eq!(marks.len(), 256);
        assert!(!marks.contains(&full));
    }
}
