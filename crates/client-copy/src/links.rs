use std::collections::HashMap;
use std::hash::Hash;

/// Files with several names that were copied under one of them; the others become links to it.
#[derive(Debug)]
pub(super) struct Links<K, T> {
    copies: HashMap<K, (T, u64)>,
}

impl<K: Eq + Hash, T: Clone> Links<K, T> {
    pub(super) fn new() -> Links<K, T> {
        Links { copies: HashMap::new() }
    }

    /// The copy of `file`, if there is one. It is dropped with the last possible name.
    pub(super) fn find(&mut self, file: &K) -> Option<T> {
        let (copy, names_left) = self.copies.get_mut(file)?;
        *names_left -= 1;
        let copy = copy.clone();
        if *names_left == 0 {
            self.copies.remove(file);
        }
        Some(copy)
    }

    /// Remembers the copy of a file with `names` names.
    pub(super) fn remember(&mut self, file: K, copy: T, names: u64) {
        if names > 1 {
            self.copies.insert(file, (copy, names - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_forgotten_with_its_last_name() {
        let mut links = Links::new();
        links.remember(7, 'a', 3);
        links.remember(8, 'b', 1);
        assert_eq!((links.find(&7), links.find(&7), links.find(&7)), (Some('a'), Some('a'), None));
        assert_eq!(links.find(&8), None);
    }
}
