//! A table of values under keys that are not used twice for different values.
//!
//! A key is an index and the generation of the entry there, so that an event or a finished job of a value that is gone
//! is told from one of its successor.

/// Names a value of a [`Slab`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlabKey {
    index: u32,
    generation: u32,
}

impl SlabKey {
    /// How many bits of a generation are kept; the key fits the lower 62 bits of a token.
    const GENERATION_BITS: u32 = 30;

    /// The key as a number below 2^62.
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The key whose number is `bits`.
    pub(crate) fn from_bits(bits: u64) -> SlabKey {
        SlabKey { index: bits as u32, generation: (bits >> 32) as u32 }
    }

    fn next_generation(self) -> u32 {
        (self.generation + 1) & ((1 << Self::GENERATION_BITS) - 1)
    }
}

/// The table.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<SlabEntry<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct SlabEntry<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Slab<T> {
    /// Makes an empty table.
    pub(crate) fn new() -> Slab<T> {
        Slab { entries: Vec::new(), free: Vec::new() }
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Keeps a value.
    pub(crate) fn insert(&mut self, value: T) -> SlabKey {
        if let Some(index) = self.free.pop() {
            let entry = &mut self.entries[index as usize];
            entry.value = Some(value);
            return SlabKey { index, generation: entry.generation };
        }
        let index = u32::try_from(self.entries.len()).expect("more than 2^32 connections");
        self.entries.push(SlabEntry { generation: 0, value: Some(value) });
        SlabKey { index, generation: 0 }
    }

    /// The value under `key`, unless it is gone.
    pub(crate) fn get_mut(&mut self, key: SlabKey) -> Option<&mut T> {
        let entry = self.entries.get_mut(key.index as usize)?;
        if entry.generation == key.generation { entry.value.as_mut() } else { None }
    }

    /// Takes the value under `key` out, unless it is gone.
    pub(crate) fn remove(&mut self, key: SlabKey) -> Option<T> {
        let entry = self.entries.get_mut(key.index as usize).filter(|entry| entry.generation == key.generation)?;
        let value = entry.value.take()?;
        entry.generation = key.next_generation();
        self.free.push(key.index);
        Some(value)
    }

    /// The key of the value at `index`, when there is one there.
    pub(crate) fn key_at(&self, index: usize) -> Option<SlabKey> {
        let entry = self.entries.get(index).filter(|entry| entry.value.is_some())?;
        Some(SlabKey { index: index as u32, generation: entry.generation })
    }

    /// One past the highest index that ever held a value.
    pub(crate) fn end(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_of_a_removed_value_does_not_find_its_successor() {
        let mut slab = Slab::new();
        let old = slab.insert("old");
        assert_eq!(slab.remove(old), Some("old"));
        let new = slab.insert("new");
        assert_eq!(slab.get_mut(old), None);
        assert_eq!((slab.remove(old), slab.len()), (None, 1));
        assert_eq!(slab.get_mut(SlabKey::from_bits(new.to_bits())), Some(&mut "new"));
        assert!(new.to_bits() >> 62 == 0 && old.to_bits() != new.to_bits());
    }
}
