//! A table of values under keys that are not used twice for different values.
//!
//! A key is an index and the generation of the slot there, so that an event or a finished job of a value that is gone
//! is told from one of its successor.

/// Names a value of a [`Slots`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// How many bits of a generation are kept; the key fits the lower 62 bits of a token.
    const GENERATION_BITS: u32 = 30;

    /// The key as a number below 2^62.
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The key whose number is `bits`.
    pub(crate) fn from_bits(bits: u64) -> Key {
        Key { index: bits as u32, generation: (bits >> 32) as u32 }
    }

    fn next_generation(self) -> u32 {
        (self.generation + 1) & ((1 << Self::GENERATION_BITS) - 1)
    }
}

/// The table.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slots<T> {
    /// Makes an empty table.
    pub(crate) fn new() -> Slots<T> {
        Slots { slots: Vec::new(), free: Vec::new() }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Keeps a value.
    pub(crate) fn insert(&mut self, value: T) -> Key {
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.value = Some(value);
            return Key { index, generation: slot.generation };
        }
        let index = u32::try_from(self.slots.len()).expect("more than 2^32 connections");
        self.slots.push(Slot { generation: 0, value: Some(value) });
        Key { index, generation: 0 }
    }

    /// The value under `key`, unless it is gone.
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let slot = self.slots.get_mut(key.index as usize)?;
        if slot.generation == key.generation { slot.value.as_mut() } else { None }
    }

    /// Takes the value under `key` out, unless it is gone.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let slot = self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)?;
        let value = slot.value.take()?;
        slot.generation = key.next_generation();
        self.free.push(key.index);
        Some(value)
    }

    /// The key of the value at `index`, when there is one there.
    pub(crate) fn key_at(&self, index: usize) -> Option<Key> {
        let slot = self.slots.get(index).filter(|slot| slot.value.is_some())?;
        Some(Key { index: index as u32, generation: slot.generation })
    }

    /// One past the highest index that ever held a value.
    pub(crate) fn end(&self) -> usize {
        self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_of_a_removed_value_does_not_find_its_successor() {
        let mut slots = Slots::new();
        let old = slots.insert("old");
        assert_eq!(slots.remove(old), Some("old"));
        let new = slots.insert("new");
        assert_eq!(slots.get_mut(old), None);
        assert_eq!((slots.remove(old), slots.len()), (None, 1));
        assert_eq!(slots.get_mut(Key::from_bits(new.to_bits())), Some(&mut "new"));
        assert!(new.to_bits() >> 62 == 0 && old.to_bits() != new.to_bits());
    }
}
