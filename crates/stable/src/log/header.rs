//! The two header blocks at the start of a log, which are written in turn.
//!
//! ```text
//! magic (8)  version (4)  owner's length (4)  id (16)  generation (8)  size (8)
//! tail (8)  position of the first batch (8)  its number (8)  owner (≤ 3072)  …  checksum (8, at the end of the block)
//! ```
//!
//! A header with an odd generation is in the second block. If a write of one block fails, the other one is complete,
//! and describes the log before this write.

use twox_hash::XxHash3_64;

use super::batch::{u32_at, u64_at};
use super::position::MAX_POSITION;
use super::ring::BLOCK_BYTES;
use super::{LogId, MAX_OWNER_BYTES};
use crate::device::AlignedBuffer;

const MAGIC: &[u8; 8] = b"WHARFlog";

/// The format that this program reads and writes.
pub(crate) const VERSION: u32 = 2;

const OWNER_AT: usize = 72;
const CHECKSUM_AT: usize = BLOCK_BYTES - 8;

const _: () = assert!(OWNER_AT + MAX_OWNER_BYTES <= CHECKSUM_AT);

/// The header of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    /// Distinguishes the log from all others.
    pub(crate) id: LogId,
    /// The number of earlier headers.
    pub(crate) generation: u64,
    /// How many bytes of the device the log uses.
    pub(crate) size_bytes: u64,
    /// Records up to here are no longer needed.
    pub(crate) tail: u64,
    /// Where the first kept batch begins, or will begin.
    pub(crate) first_position: u64,
    /// The number of that batch.
    pub(crate) first_number: u64,
    /// The owner's description of itself.
    pub(crate) owner: Vec<u8>,
}

/// The contents of a header block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeaderBlock {
    /// Zeros: no header was written yet.
    Blank,
    /// An incomplete header: a write was interrupted, or the block was damaged later.
    Damaged,
    /// Other data.
    Foreign,
    /// A header of another format.
    Version(u32),
    /// A header.
    Whole(Header),
}

impl Header {
    /// The offset of the block in which this header belongs.
    pub(crate) fn offset_bytes(&self) -> u64 {
        self.generation % 2 * BLOCK_BYTES as u64
    }

    /// The header's block.
    pub(crate) fn block(&self) -> AlignedBuffer {
        let mut block = AlignedBuffer::new(BLOCK_BYTES);
        let numbers = [self.generation, self.size_bytes, self.tail, self.first_position, self.first_number];
        block[..8].copy_from_slice(MAGIC);
        block[8..12].copy_from_slice(&VERSION.to_le_bytes());
        block[12..16].copy_from_slice(&(self.owner.len() as u32).to_le_bytes());
        block[16..32].copy_from_slice(&self.id.0);
        block[32..OWNER_AT].copy_from_slice(&numbers.map(u64::to_le_bytes).concat());
        block[OWNER_AT..OWNER_AT + self.owner.len()].copy_from_slice(&self.owner);
        let sum = XxHash3_64::oneshot(&block[..CHECKSUM_AT]);
        block[CHECKSUM_AT..].copy_from_slice(&sum.to_le_bytes());
        block
    }
}

impl HeaderBlock {
    /// Reads header block 0 or 1.
    pub(crate) fn parse(number: u64, block: &[u8]) -> HeaderBlock {
        if block.iter().all(|&byte| byte == 0) {
            return HeaderBlock::Blank;
        }
        if !block.starts_with(MAGIC) {
            return HeaderBlock::Foreign;
        }
        if XxHash3_64::oneshot(&block[..CHECKSUM_AT]) != u64_at(block, CHECKSUM_AT) {
            return HeaderBlock::Damaged;
        }
        match (u32_at(block, 8), header(block)) {
            (VERSION, Some(header)) if header.generation % 2 == number => HeaderBlock::Whole(header),
            (VERSION, _) => HeaderBlock::Damaged,
            (version, _) => HeaderBlock::Version(version),
        }
    }
}

fn header(block: &[u8]) -> Option<Header> {
    let length = u32_at(block, 12) as usize;
    let [generation, size_bytes, tail, first_position, first_number] = [32, 40, 48, 56, 64].map(|at| u64_at(block, at));
    let owner = block[OWNER_AT..].get(..length).filter(|owner| owner.len() <= MAX_OWNER_BYTES)?.to_vec();
    let id = LogId(block[16..32].try_into().ok()?);
    let is_possible = tail.max(first_position).max(first_number).max(size_bytes) < MAX_POSITION;
    (is_possible && first_position.is_multiple_of(BLOCK_BYTES as u64)).then_some(())?;
    Some(Header { id, generation, size_bytes, tail, first_position, first_number, owner })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(generation: u64) -> Header {
        let id = LogId([5; 16]);
        let owner = vec![1; MAX_OWNER_BYTES];
        Header { id, generation, size_bytes: 1 << 20, tail: 900, first_position: 4096, first_number: 7, owner }
    }

    #[test]
    fn header_comes_back_from_its_own_block_only() {
        for generation in [0, 7] {
            let header = some(generation);
            let number = generation % 2;
            assert_eq!(HeaderBlock::parse(number, &header.block()), HeaderBlock::Whole(header.clone()));
            assert_eq!(HeaderBlock::parse(1 - number, &header.block()), HeaderBlock::Damaged);
        }
    }

    #[test]
    fn header_with_any_byte_altered_is_none() {
        let mut block = some(2).block();
        for at in 0..BLOCK_BYTES {
            block[at] ^= 1;
            assert!(matches!(HeaderBlock::parse(0, &block), HeaderBlock::Damaged | HeaderBlock::Foreign), "byte {at}");
            block[at] ^= 1;
        }
    }

    #[test]
    fn header_with_impossible_numbers_is_damaged() {
        let (place, far) = (Header { first_position: 4095, ..some(2) }, Header { tail: u64::MAX, ..some(2) });
        let number = Header { first_number: u64::MAX, ..some(2) };
        for header in [place, far, number] {
            assert_eq!(HeaderBlock::parse(0, &header.block()), HeaderBlock::Damaged);
        }
    }

    #[test]
    fn zeros_are_no_header_yet_and_another_format_is_named() {
        assert_eq!(HeaderBlock::parse(0, &[0; BLOCK_BYTES]), HeaderBlock::Blank);
        let mut block = some(2).block();
        block[8] = 9;
        let sum = XxHash3_64::oneshot(&block[..CHECKSUM_AT]);
        block[CHECKSUM_AT..].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(HeaderBlock::parse(0, &block), HeaderBlock::Version(9));
    }
}
