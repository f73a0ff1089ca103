//! A batch: the records of one write, in whole blocks.
//!
//! ```text
//! head     magic (8)  log's id (16)  number (8)  position (8)  length (4)  records (4)  checksum (8)
//! record   length (4)  time in ms since 1970 (8)  bytes
//! ```
//!
//! Numbers are little-endian. The length counts head and records; zeros fill the last block. The checksum covers that
//! length with zeros in its own place. Its seed comes from the log's id.

use std::time::Duration;

use twox_hash::XxHash3_64;

use super::LogId;
use super::position::MAX_POSITION;
use super::ring::{BLOCK_BYTES, blocks};
use crate::device::AlignedBuffer;

const MAGIC: &[u8; 8] = b"WHARFbat";

/// The length of a batch's head.
pub(crate) const HEAD_BYTES: usize = 56;

/// The length of a record's head.
pub(crate) const RECORD_HEAD_BYTES: usize = 12;

const CHECKSUM_AT: usize = 48;

/// The head of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchHead {
    /// The number of earlier batches.
    pub(crate) number: u64,
    /// Where the batch begins.
    pub(crate) position: u64,
    /// The bytes of head and records.
    pub(crate) length: usize,
    /// How many records it has.
    pub(crate) records: u32,
    checksum: u64,
}

impl BatchHead {
    /// Reads the head at the start of `block`, if it belongs to this log.
    pub(crate) fn parse(block: &[u8], id: &LogId) -> Option<BatchHead> {
        if !block.starts_with(MAGIC) || block[8..24] != id.0 {
            return None;
        }
        let head = BatchHead {
            number: u64_at(block, 24),
            position: u64_at(block, 32),
            length: u32_at(block, 40) as usize,
            records: u32_at(block, 44),
            checksum: u64_at(block, CHECKSUM_AT),
        };
        (head.number.max(head.position) < MAX_POSITION).then_some(head)
    }

    /// How many bytes of the device the batch takes.
    pub(crate) fn stored_bytes(&self) -> usize {
        blocks(self.length)
    }

    /// Whether `batch` is complete under this head; zeroes the place of the checksum.
    pub(crate) fn is_whole(&self, batch: &mut [u8], id: &LogId) -> bool {
        batch[CHECKSUM_AT..HEAD_BYTES].fill(0);
        checksum(batch, id) == self.checksum && BatchRecords::new(batch).count() == self.records as usize
    }
}

/// The record at `at` of a batch, and where the next one begins.
pub(crate) fn record_at(batch: &[u8], at: usize) -> Option<(Stored<'_>, usize)> {
    let head = batch.get(at..at + RECORD_HEAD_BYTES)?;
    let start = at + RECORD_HEAD_BYTES;
    let end = start.checked_add(u32_at(head, 0) as usize)?;
    Some((Stored { time_ms: u64_at(head, 4), bytes: batch.get(start..end)? }, end))
}

/// A record as it is stored.
pub(crate) struct Stored<'b> {
    /// When it was appended, in ms since 1970.
    pub(crate) time_ms: u64,
    /// The record.
    pub(crate) bytes: &'b [u8],
}

/// The valid records of a batch, each with its end in the batch.
pub(crate) struct BatchRecords<'b> {
    batch: &'b [u8],
    at: usize,
}

impl<'b> BatchRecords<'b> {
    pub(crate) fn new(batch: &'b [u8]) -> BatchRecords<'b> {
        BatchRecords { batch, at: HEAD_BYTES }
    }
}

impl<'b> Iterator for BatchRecords<'b> {
    type Item = (Stored<'b>, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let (record, at) = record_at(self.batch, self.at)?;
        self.at = at;
        Some((record, at))
    }
}

/// The batch that takes records, in reused memory.
#[derive(Debug)]
pub(crate) struct Gathering {
    buffer: AlignedBuffer,
    length: usize,
    records: u32,
    oldest_ms: u64,
}

impl Gathering {
    /// An empty batch that takes at most `bytes` of the device.
    pub(crate) fn new(bytes: usize) -> Gathering {
        Gathering { buffer: AlignedBuffer::new(bytes), length: HEAD_BYTES, records: 0, oldest_ms: 0 }
    }

    /// The bytes of head and records so far.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// How many records it has.
    pub(crate) fn records(&self) -> u32 {
        self.records
    }

    /// When its first record was appended, in ms since 1970.
    pub(crate) fn oldest_ms(&self) -> u64 {
        self.oldest_ms
    }

    /// Whether a record of `bytes` still fits.
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        blocks(self.length + RECORD_HEAD_BYTES + bytes) <= self.buffer.len()
    }

    /// Adds a record that fits.
    pub(crate) fn put(&mut self, parts: &[&[u8]], bytes: usize, time: Duration) {
        let time_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        if self.records == 0 {
            self.oldest_ms = time_ms;
        }
        self.add(&(bytes as u32).to_le_bytes());
        self.add(&time_ms.to_le_bytes());
        parts.iter().for_each(|part| self.add(part));
        self.records += 1;
    }

    fn add(&mut self, bytes: &[u8]) {
        self.buffer[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Completes the batch, and returns the bytes to write.
    pub(crate) fn seal(&mut self, id: &LogId, number: u64, position: u64) -> &[u8] {
        let stored = blocks(self.length);
        self.buffer[self.length..stored].fill(0);
        self.buffer[..8].copy_from_slice(MAGIC);
        self.buffer[8..24].copy_from_slice(&id.0);
        self.buffer[24..32].copy_from_slice(&number.to_le_bytes());
        self.buffer[32..40].copy_from_slice(&position.to_le_bytes());
        self.buffer[40..44].copy_from_slice(&(self.length as u32).to_le_bytes());
        self.buffer[44..48].copy_from_slice(&self.records.to_le_bytes());
        self.buffer[CHECKSUM_AT..HEAD_BYTES].fill(0);
        let sum = checksum(&self.buffer[..self.length], id);
        self.buffer[CHECKSUM_AT..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
        &self.buffer[..stored]
    }

    /// Empties it, for other records.
    pub(crate) fn clear(&mut self) {
        (self.length, self.records) = (HEAD_BYTES, 0);
    }
}

/// XXH3 with a seed from the log's id.
pub(crate) fn checksum(bytes: &[u8], id: &LogId) -> u64 {
    XxHash3_64::oneshot_with_seed(u64_at(&id.0, 0) ^ u64_at(&id.0, 8), bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_le_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes)
}

const _: () = assert!(HEAD_BYTES < BLOCK_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    const ID: LogId = LogId([9; 16]);

    fn sealed() -> Vec<u8> {
        let mut batch = Gathering::new(4 * BLOCK_BYTES);
        batch.put(&[b"first", b" part"], 10, Duration::from_millis(5));
        batch.put(&[&[3; 5000]], 5000, Duration::from_millis(6));
        batch.seal(&ID, 12, 8192).to_vec()
    }

    fn is_whole(bytes: &[u8]) -> bool {
        BatchHead::parse(bytes, &ID).is_some_and(|head| {
            let length = head.length.clamp(HEAD_BYTES, bytes.len());
            head.is_whole(&mut bytes[..length].to_vec(), &ID)
        })
    }

    #[test]
    fn batch_comes_back_as_it_was_written() {
        let bytes = sealed();
        let head = BatchHead::parse(&bytes, &ID).unwrap();
        assert_eq!((head.number, head.position, head.records), (12, 8192, 2));
        assert_eq!(head.stored_bytes(), bytes.len());
        assert!(is_whole(&bytes));
        let records: Vec<Vec<u8>> =
            BatchRecords::new(&bytes[..head.length]).map(|(record, _)| record.bytes.to_vec()).collect();
        assert_eq!(records, [b"first part".to_vec(), vec![3; 5000]]);
        assert_eq!(BatchRecords::new(&bytes).next().unwrap().0.time_ms, 5);
    }

    #[test]
    fn batch_with_any_byte_altered_is_not_whole() {
        let mut bytes = sealed();
        let length = BatchHead::parse(&bytes, &ID).unwrap().length;
        for at in 0..length {
            bytes[at] ^= 0x40;
            assert!(!is_whole(&bytes), "byte {at}");
            bytes[at] ^= 0x40;
        }
        assert!(is_whole(&bytes));
    }

    #[test]
    fn batch_at_an_impossible_position_is_none() {
        let mut batch = Gathering::new(BLOCK_BYTES);
        assert_eq!(BatchHead::parse(batch.seal(&ID, 1, u64::MAX - 4095), &ID), None);
        assert_eq!(BatchHead::parse(batch.seal(&ID, u64::MAX, 4096), &ID), None);
    }

    #[test]
    fn batch_of_another_log_is_none() {
        assert_eq!(BatchHead::parse(&sealed(), &LogId([8; 16])), None);
    }
}
