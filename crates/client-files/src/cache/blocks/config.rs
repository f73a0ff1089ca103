use crate::{Caching, Sizes};

/// The smallest and the largest block, in bytes.
const BLOCK_BYTES: std::ops::RangeInclusive<u32> = 4096..=1 << 20;
/// The fewest blocks that a cache works with: some for reads, some for writes.
const MIN_BLOCKS: usize = 8;
/// One part in this many of the memory is for blocks that sequential readers of large files have left.
const BEHIND: usize = 16;
/// The most bytes that one reader waits for at a time.
const MAX_WANTED_BYTES: usize = 8 << 20;

/// Limits of the block cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Config {
    /// A block has `1 << block_shift` bytes.
    pub(super) block_shift: u32,
    /// The most blocks.
    pub(super) max_blocks: usize,
    /// The most blocks kept behind sequential readers of files that do not fit.
    pub(super) max_behind_blocks: usize,
    /// The most dirty blocks: at most half of all, so that readers find room.
    pub(super) max_dirty_blocks: usize,
    /// The most blocks that one reader waits for at a time.
    pub(super) max_wanted_blocks: u64,
    /// How many adjacent blocks one READ fetches.
    pub(super) read_blocks: u64,
    /// The most bytes of one WRITE.
    pub(super) write_bytes: u32,
    /// The most bytes of read-ahead.
    pub(super) ahead_bytes: u64,
}

impl Config {
    pub(super) fn new(caching: &Caching, sizes: Sizes) -> Config {
        let block_bytes = caching.block_bytes.clamp(*BLOCK_BYTES.start(), *BLOCK_BYTES.end()).next_power_of_two();
        let block_shift = block_bytes.trailing_zeros();
        let blocks = |bytes: u64| usize::try_from(bytes >> block_shift).unwrap_or(usize::MAX);
        let max_blocks = blocks(caching.max_bytes).clamp(MIN_BLOCKS, u32::MAX as usize);
        let quarter = max_blocks / 4;
        Config {
            block_shift,
            max_blocks,
            max_behind_blocks: max_blocks / BEHIND,
            max_dirty_blocks: blocks(caching.max_dirty_bytes).clamp(1, max_blocks / 2),
            max_wanted_blocks: (MAX_WANTED_BYTES >> block_shift).clamp(1, quarter) as u64,
            read_blocks: u64::from((sizes.read >> block_shift).max(1)),
            write_bytes: sizes.write,
            ahead_bytes: caching.read_ahead_bytes.min((quarter as u64) << block_shift),
        }
    }

    pub(super) fn block_bytes(&self) -> u32 {
        1 << self.block_shift
    }

    /// Where a block begins, in bytes.
    pub(super) fn start(&self, index: u64) -> u64 {
        index << self.block_shift
    }

    /// The first block that starts at or behind byte `end`.
    pub(super) fn blocks_to(&self, end: u64) -> u64 {
        (end >> self.block_shift) + u64::from(end & u64::from(self.block_bytes() - 1) != 0)
    }

    /// The part of block `index` between two offsets in the file.
    pub(super) fn part(&self, index: u64, from: u64, to: u64) -> std::ops::Range<u32> {
        let start = self.start(index);
        let within = |place: u64| place.saturating_sub(start).min(u64::from(self.block_bytes())) as u32;
        within(from)..within(to)
    }
}
