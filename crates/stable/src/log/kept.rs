//! The durable batches that are kept, with 24 bytes for each.

use std::collections::VecDeque;

use super::ring::next_block;

/// A durable batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptBatch {
    /// Where it begins.
    pub(crate) position: u64,
    /// The bytes of its head and records.
    pub(crate) length: u32,
    /// When its first record was appended, in ms since 1970.
    pub(crate) oldest_ms: u64,
}

impl KeptBatch {
    /// The position behind its last record.
    pub(crate) fn end(&self) -> u64 {
        self.position + u64::from(self.length)
    }
}

/// The durable batches from the oldest needed one on, without gaps.
#[derive(Debug)]
pub(crate) struct KeptBatches {
    batches: VecDeque<KeptBatch>,
    /// The position of the first batch, or of the next one if there is none.
    first_position: u64,
    first_number: u64,
    /// Records up to here are not needed.
    tail: u64,
}

impl KeptBatches {
    /// No batches yet; the first will have this position and number.
    pub(crate) fn new(tail: u64, first_position: u64, first_number: u64) -> KeptBatches {
        KeptBatches { batches: VecDeque::new(), first_position, first_number, tail }
    }

    /// Where the first batch begins.
    pub(crate) fn first_position(&self) -> u64 {
        self.first_position
    }

    /// The position up to which records are not needed.
    pub(crate) fn tail(&self) -> u64 {
        self.tail
    }

    /// The number of the batch behind the last one.
    pub(crate) fn next_number(&self) -> u64 {
        self.first_number + self.batches.len() as u64
    }

    /// Where the batch behind the last one begins.
    pub(crate) fn next_position(&self) -> u64 {
        self.batches.back().map_or(self.first_position, |batch| next_block(batch.end()))
    }

    /// The position behind the last record.
    pub(crate) fn end(&self) -> u64 {
        self.batches.back().map_or(self.tail, KeptBatch::end)
    }

    /// The time of the first record in the oldest kept batch, in ms since 1970.
    pub(crate) fn oldest_ms(&self) -> Option<u64> {
        self.batches.front().map(|batch| batch.oldest_ms)
    }

    /// The first batch at `position` or behind it, with its number.
    pub(crate) fn from(&self, position: u64) -> Option<(u64, KeptBatch)> {
        let at = self.batches.partition_point(|batch| batch.position < position);
        self.batches.get(at).map(|batch| (self.first_number + at as u64, *batch))
    }

    /// Adds a batch behind the last one.
    pub(crate) fn push(&mut self, batch: KeptBatch) {
        self.batches.push_back(batch);
    }

    /// The position and number of the first batch that remains after a trim up to `tail`.
    pub(crate) fn first_from(&self, tail: u64) -> (u64, u64) {
        let gone = self.batches.partition_point(|batch| batch.end() <= tail);
        let position = self.batches.get(gone).map_or(self.next_position(), |batch| batch.position);
        (position, self.first_number + gone as u64)
    }

    /// Drops the batches whose records all end at `tail` or before.
    pub(crate) fn trim(&mut self, tail: u64) {
        let (position, number) = self.first_from(tail);
        self.batches.drain(..(number - self.first_number) as usize);
        (self.first_position, self.first_number, self.tail) = (position, number, tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_stays_until_its_last_record_is_not_needed() {
        let mut kept = KeptBatches::new(0, 0, 0);
        kept.push(KeptBatch { position: 0, length: 300, oldest_ms: 1 });
        kept.push(KeptBatch { position: 4096, length: 5000, oldest_ms: 2 });
        assert_eq!((kept.end(), kept.next_position(), kept.next_number()), (9096, 12288, 2));

        kept.trim(299);
        assert_eq!((kept.first_position(), kept.first_number), (0, 0));
        kept.trim(300);
        assert_eq!((kept.first_position(), kept.first_number, kept.oldest_ms()), (4096, 1, Some(2)));
        kept.trim(9096);
        assert_eq!((kept.first_position(), kept.first_number, kept.oldest_ms()), (12288, 2, None));
        assert_eq!((kept.end(), kept.next_position(), kept.next_number()), (9096, 12288, 2));
    }
}
