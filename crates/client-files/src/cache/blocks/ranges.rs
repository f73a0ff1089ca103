//! Parts of a block.

use std::ops::Range;

/// Ranges of bytes within one block: sorted, none of them empty, none touching the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<Range<u32>>);

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Range<u32>> {
        self.0.iter()
    }

    pub(super) fn end(&self) -> u32 {
        self.0.last().map_or(0, |last| last.end)
    }

    pub(super) fn contains(&self, range: &Range<u32>) -> bool {
        self.0.iter().any(|own| own.start <= range.start && range.end <= own.end)
    }

    /// Whether `range` would merge with one of these.
    pub(super) fn touches(&self, range: &Range<u32>) -> bool {
        self.0.iter().any(|own| own.start <= range.end && range.start <= own.end)
    }

    pub(super) fn insert(&mut self, range: Range<u32>) {
        if range.is_empty() {
            return;
        }
        let from = self.0.partition_point(|own| own.end < range.start);
        let to = self.0.partition_point(|own| own.start <= range.end);
        match self.0[from..to] {
            [] => self.0.insert(from, range),
            [ref mut only] => *only = only.start.min(range.start)..only.end.max(range.end),
            [ref first, .., ref last] => {
                let joined = first.start.min(range.start)..last.end.max(range.end);
                self.0.splice(from..to, [joined]);
            }
        }
    }

    pub(super) fn insert_all(&mut self, other: &Ranges) {
        other.iter().for_each(|range| self.insert(range.clone()));
    }

    pub(super) fn remove(&mut self, range: &Range<u32>) {
        let parts = |own: &Range<u32>| {
            [own.start..own.end.min(range.start), own.start.max(range.end)..own.end]
                .into_iter()
                .filter(|part| !part.is_empty())
        };
        if !range.is_empty() && self.0.iter().any(|own| own.start < range.end && range.start < own.end) {
            self.0 = self.0.iter().flat_map(parts).collect();
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u32 = 32;

    #[test]
    fn ranges_hold_what_a_set_of_bytes_holds() {
        let (mut ranges, mut model) = (Ranges::default(), [false; BYTES as usize]);
        let mut random = 7u32;
        for _ in 0..20_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (one, other, inserts) = (random >> 8 & 31, random >> 16 & 31, random >> 24 & 1 == 0);
            let range = one.min(other)..one.max(other);
            match inserts {
                true => ranges.insert(range.clone()),
                false => ranges.remove(&range),
            }
            model[range.start as usize..range.end as usize].fill(inserts);
            let held: Vec<bool> = (0..BYTES).map(|byte| ranges.contains(&(byte..byte + 1))).collect();
            assert_eq!(held, model);
            let apart = ranges.0.windows(2).all(|pair| pair[0].end < pair[1].start);
            assert!(apart && ranges.iter().all(|range| !range.is_empty()), "{ranges:?}");
        }
    }

    #[test]
    fn neighbours_become_one_and_the_end_is_that_of_the_last() {
        let mut ranges = Ranges::default();
        ranges.insert(0..4);
        ranges.insert(8..12);
        assert!(ranges.touches(&(4..5)) && !ranges.touches(&(5..7)));
        ranges.insert(4..8);
        assert_eq!((ranges.count(), ranges.end()), (1, 12));
        assert!(ranges.contains(&(0..12)));
    }
}
