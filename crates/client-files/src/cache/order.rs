//! A map in the order in which its entries were last used. All caches of a mount are kept in it.
//!
//! It has no limit of its own: callers that insert pop the oldest entries until their own limit, in entries or bytes,
//! is kept.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Index of no neighbour.
const NONE: usize = usize::MAX;

/// Entries in the order of their last use. Every operation takes constant time.
#[derive(Debug)]
pub struct Order<K, V> {
    places: HashMap<K, usize>,
    slots: Vec<Slot<K, V>>,
    newest: usize,
    oldest: usize,
    /// The first of the free slots, which are chained by `older`.
    free: usize,
}

#[derive(Debug)]
struct Slot<K, V> {
    entry: Option<(K, V)>,
    newer: usize,
    older: usize,
}

impl<K, V> Default for Order<K, V> {
    fn default() -> Self {
        Order { places: HashMap::new(), slots: Vec::new(), newest: NONE, oldest: NONE, free: NONE }
    }
}

impl<K: Clone + Eq + Hash, V> Order<K, V> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The entry, which becomes the newest.
    pub fn get<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let slot = *self.places.get(key)?;
        if self.newest != slot {
            self.unchain(slot);
            self.chain(slot);
        }
        self.slots[slot].entry.as_mut().map(|(_, value)| value)
    }

    /// Inserts an entry as the newest and returns the one it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(there) = self.get(&key) {
            return Some(std::mem::replace(there, value));
        }
        let slot = self.take_free();
        self.slots[slot].entry = Some((key.clone(), value));
        self.places.insert(key, slot);
        self.chain(slot);
        None
    }

    /// Removes an entry.
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let slot = self.places.remove(key)?;
        self.release(slot).map(|(_, value)| value)
    }

    /// Removes the entry that was used longest ago.
    pub fn pop_oldest(&mut self) -> Option<(K, V)> {
        if self.oldest == NONE {
            return None;
        }
        let (key, value) = self.release(self.oldest)?;
        self.places.remove(&key);
        Some((key, value))
    }

    /// All entries, least recently used first; iterating does not count as use.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let mut next = self.oldest;
        std::iter::from_fn(move || {
            let slot = self.slots.get(next)?;
            next = slot.newer;
            slot.entry.as_ref().map(|(key, value)| (key, value))
        })
    }

    fn take_free(&mut self) -> usize {
        if self.free == NONE {
            self.slots.push(Slot { entry: None, newer: NONE, older: NONE });
            return self.slots.len() - 1;
        }
        let slot = self.free;
        self.free = self.slots[slot].older;
        slot
    }

    fn release(&mut self, slot: usize) -> Option<(K, V)> {
        self.unchain(slot);
        self.slots[slot].older = self.free;
        self.free = slot;
        self.slots[slot].entry.take()
    }

    /// Makes a slot that is in no chain the newest.
    fn chain(&mut self, slot: usize) {
        (self.slots[slot].newer, self.slots[slot].older) = (NONE, self.newest);
        match self.newest {
            NONE => self.oldest = slot,
            second => self.slots[second].newer = slot,
        }
        self.newest = slot;
    }

    fn unchain(&mut self, slot: usize) {
        let (newer, older) = (self.slots[slot].newer, self.slots[slot].older);
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(mut order: Order<&'static str, u32>) -> Vec<&'static str> {
        std::iter::from_fn(|| order.pop_oldest()).map(|(key, _)| key).collect()
    }

    fn filled() -> Order<&'static str, u32> {
        let mut order = Order::default();
        for (value, key) in ["a", "b", "c"].into_iter().enumerate() {
            assert_eq!(order.insert(key, value as u32), None);
        }
        order
    }

    #[test]
    fn oldest_entry_is_the_one_that_was_used_longest_ago() {
        let mut order = filled();
        assert_eq!(order.get("a").copied(), Some(0));
        assert_eq!(order.insert("b", 7), Some(1));
        assert_eq!(order.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["c", "a", "b"]);
        assert_eq!(drained(order), ["c", "a", "b"]);
    }

    #[test]
    fn removed_entry_is_gone_and_its_place_is_used_again() {
        let mut order = filled();
        for key in ["b", "a", "c"] {
            assert!(order.remove(key).is_some());
            assert_eq!(order.remove(key), None);
            order.insert("new", 9);
            assert_eq!(order.remove("new"), Some(9));
        }
        assert_eq!((order.len(), order.slots.len()), (0, 3));
        assert_eq!(order.pop_oldest(), None);
    }

    #[test]
    fn order_is_that_of_a_list_that_is_kept_by_hand() {
        let (mut order, mut list) = (Order::default(), Vec::new());
        let mut seed = 7u32;
        for _ in 0..10_000 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = seed >> 8 & 31;
            let was = list.iter().position(|other| *other == key).map(|at| list.remove(at));
            match seed >> 16 & 3 {
                0 => assert_eq!(order.remove(&key), was),
                1 => assert_eq!(order.get(&key).copied().inspect(|_| list.push(key)), was),
                2 if list.len() > 20 => {
                    list.extend(was.filter(|_| order.get(&key).is_some()));
                    assert_eq!(order.pop_oldest().map(|(key, _)| key), Some(list.remove(0)));
                }
                _ => {
                    assert_eq!(order.insert(key, key), was);
                    list.push(key);
                }
            }
            assert_eq!(order.len(), list.len());
        }
        assert_eq!(std::iter::from_fn(|| order.pop_oldest()).map(|(key, _)| key).collect::<Vec<_>>(), list);
    }
}
