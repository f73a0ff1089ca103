//! Which record of the log has the latest data of each byte of a file.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::record::Write;

/// The bytes that a write has changed.
pub(super) fn range_of(write: &Write, data: &[u8]) -> Range<u64> {
    write.offset_bytes..write.offset_bytes.saturating_add(data.len() as u64)
}

/// The latest data of a file.
#[derive(Debug, Default)]
pub(super) struct LatestData {
    /// Pieces that do not overlap, by their starts.
    pieces: BTreeMap<u64, Piece>,
    /// A size that the log has, and of which it does not have that it was set.
    announced_bytes: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    end_bytes: u64,
    /// The end of the record that has these bytes.
    record: u64,
}

impl LatestData {
    /// The record that ends at `record` has these bytes, and is the latest one so far.
    pub(super) fn add(&mut self, range_bytes: Range<u64>, record: u64) {
        if range_bytes.is_empty() {
            return;
        }
        self.remove(&range_bytes);
        self.pieces.insert(range_bytes.start, Piece { end_bytes: range_bytes.end, record });
    }

    /// The file is going to get this size.
    pub(super) fn announce_size(&mut self, size_bytes: u64) {
        self.announced_bytes = Some(size_bytes);
    }

    /// The announced size was set, if there is one.
    pub(super) fn set_size(&mut self) {
        if let Some(size_bytes) = self.announced_bytes.take() {
            self.remove(&(size_bytes..u64::MAX));
        }
    }

    /// There are no more records. The file has this size: an announced one may not have been set.
    pub(super) fn end(&mut self, size_bytes: u64) {
        if self.announced_bytes.is_some_and(|announced_bytes| size_bytes <= announced_bytes) {
            self.set_size();
        }
    }

    pub(super) fn remove(&mut self, range_bytes: &Range<u64>) {
        let begins_before = self.pieces.range(..range_bytes.start).next_back();
        let begins_before = begins_before.filter(|(_, piece)| piece.end_bytes > range_bytes.start);
        let overlapping = begins_before.into_iter().chain(self.pieces.range(range_bytes.clone()));
        let starts: Vec<u64> = overlapping.map(|(start, _)| *start).collect();
        for start in starts {
            let Some(piece) = self.pieces.remove(&start) else { continue };
            if start < range_bytes.start {
                self.pieces.insert(start, Piece { end_bytes: range_bytes.start, ..piece });
            }
            if piece.end_bytes > range_bytes.end {
                self.pieces.insert(range_bytes.end, piece);
            }
        }
    }

    /// The bytes in a range that the record that ends at `record` has.
    pub(super) fn of(&self, range_bytes: Range<u64>, record: u64) -> Vec<Range<u64>> {
        let pieces = self.pieces.range(range_bytes).filter(|(_, piece)| piece.record == record);
        pieces.map(|(start, piece)| *start..piece.end_bytes).collect()
    }

    /// All ranges; those of several records that touch are one.
    pub(super) fn ranges(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (start, piece) in &self.pieces {
            match ranges.last_mut().filter(|last| last.end == *start) {
                Some(last) => last.end = piece.end_bytes,
                None => ranges.push(*start..piece.end_bytes),
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_of_the_last_record_with_it() {
        // The file as one record number for each byte, beside what is tested.
        let (mut latest, mut bytes) = (LatestData::default(), [0_u64; 64]);
        let mut random = 7_u64;
        let mut below = |limit: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % limit
        };
        for record in 1..2000 {
            let (start, length) = (below(64), below(20));
            let range = start..(start + length).min(64);
            if below(10) == 0 {
                latest.announce_size(start);
                latest.set_size();
                bytes[start as usize..].fill(0);
            } else {
                latest.add(range.clone(), record);
                bytes[range.start as usize..range.end as usize].fill(record);
            }
            let mut found = [0; 64];
            for record in 1..=record {
                for piece in latest.of(0..64, record) {
                    found[piece.start as usize..piece.end as usize].fill(record);
                }
            }
            assert_eq!(found, bytes);
            let covered: Vec<u64> = latest.ranges().into_iter().flatten().collect();
            let expected: Vec<u64> = (0..64).filter(|at| bytes[*at as usize] > 0).collect();
            assert_eq!(covered, expected);
        }
    }

    #[test]
    fn announced_size_counts_once_it_was_set() {
        let after = |size_bytes| {
            let mut latest = LatestData::default();
            latest.add(0..10, 1);
            latest.announce_size(4);
            latest.end(size_bytes);
            latest.ranges()
        };
        assert_eq!(after(10), [Range { start: 0, end: 10 }], "the server was killed before it set the size");
        assert_eq!(after(4), [Range { start: 0, end: 4 }]);
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let mut latest = LatestData::default();
        [(0..10, 1), (20..30, 2), (10..20, 3), (40..50, 4)].into_iter().for_each(|(range, end)| latest.add(range, end));
        assert_eq!(latest.ranges(), [0..30, 40..50]);
        assert_eq!(latest.of(0..60, 3), [Range { start: 10, end: 20 }]);
    }
}
