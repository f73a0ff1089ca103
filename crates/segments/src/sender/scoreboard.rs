//! Out-of-order data reported by the receiver (RFC 2018), and the losses that follow from it (RFC 6675).

use std::ops::Range;

/// The maximum number of blocks. Further ones are dropped, which only costs retransmissions.
const MAX_BLOCKS: usize = 4096;
/// This many segments above a missing one must arrive before it counts as lost (RFC 6675 §2).
const DUP_THRESH: u64 = 3;

/// Blocks of out-of-order data, in order, neither overlapping nor adjacent.
#[derive(Debug, Clone, Default)]
pub(super) struct Scoreboard {
    blocks: Vec<Range<u64>>,
}

impl Scoreboard {
    /// Adds a block; returns whether any of it is new.
    pub fn insert(&mut self, block: Range<u64>) -> bool {
        if block.is_empty() {
            return false;
        }
        let first = self.blocks.partition_point(|known| known.end < block.start);
        let last = self.blocks.partition_point(|known| known.start <= block.end);
        if first == last {
            let has_room = self.blocks.len() < MAX_BLOCKS;
            if has_room {
                self.blocks.insert(first, block);
            }
            return has_room;
        }
        let merged = block.start.min(self.blocks[first].start)..block.end.max(self.blocks[last - 1].end);
        let is_new = last - first > 1 || merged != self.blocks[first];
        self.blocks.splice(first..last, [merged]);
        is_new
    }

    /// Drops what precedes `offset`.
    pub fn acknowledge(&mut self, offset: u64) {
        self.blocks.retain(|block| block.end > offset);
        if let Some(first) = self.blocks.first_mut() {
            first.start = first.start.max(offset);
        }
    }

    /// Drops all blocks: after a timeout the receiver may have dropped reported data (RFC 2018 §8).
    pub fn clear(&mut self) {
        self.blocks.clear();
    }

    /// The end of the highest out-of-order data.
    pub fn highest(&self) -> Option<u64> {
        self.blocks.last().map(|block| block.end)
    }

    /// The bytes in blocks below `offset`.
    pub fn bytes_below(&self, offset: u64) -> u64 {
        self.blocks.iter().map(|block| block.end.min(offset).saturating_sub(block.start)).sum()
    }

    /// `IsLost`: enough data above `offset` has arrived (RFC 6675 §4).
    pub fn is_lost(&self, offset: u64, mss: u64) -> bool {
        offset < self.lost_below(mss)
    }

    /// Every missing byte below this is lost.
    fn lost_below(&self, mss: u64) -> u64 {
        let (mut count, mut bytes) = (0, 0);
        for block in self.blocks.iter().rev() {
            count += 1;
            bytes += block.end - block.start;
            if count >= DUP_THRESH || bytes > (DUP_THRESH - 1) * mss {
                return block.start;
            }
        }
        0
    }

    /// The first hole at or above `offset`, up to the next block; `None` above all blocks.
    pub fn hole(&self, offset: u64) -> Option<Range<u64>> {
        let mut from = offset;
        for block in &self.blocks {
            if from < block.start {
                return Some(from..block.start);
            }
            from = from.max(block.end);
        }
        None
    }

    /// `SetPipe`: bytes between `una` and `max` in flight, where everything before `high_rxt` was retransmitted (RFC
    /// 6675 §4).
    pub fn pipe(&self, una: u64, max: u64, high_rxt: u64, mss: u64) -> u64 {
        let lost_below = self.lost_below(mss);
        let mut pipe = 0;
        let mut from = una;
        let ends = self.blocks.iter().map(|block| (block.start, block.end)).chain([(max, max)]);
        for (start, end) in ends {
            let (from_here, to) = (from.min(start), start);
            // Lost bytes are not in flight, but their retransmissions are.
            pipe += to - from_here.max(lost_below).min(to);
            pipe += to.min(high_rxt).saturating_sub(from_here);
            from = end;
        }
        pipe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(blocks: &[(u64, u64)]) -> Scoreboard {
        let mut board = Scoreboard::default();
        blocks.iter().for_each(|(start, end)| {
            board.insert(*start..*end);
        });
        board
    }

    #[test]
    fn blocks_are_the_set_of_bytes_that_were_told() {
        for seed in 0..300 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut board, mut set, mut acknowledged) = (Scoreboard::default(), [false; 64], 0);
            for _ in 0..30 {
                if random.u8(..5) == 0 {
                    acknowledged = random.usize(acknowledged..60);
                    board.acknowledge(acknowledged as u64);
                    set[..acknowledged].fill(false);
                } else {
                    let start = random.usize(acknowledged..62);
                    let end = random.usize(start..64);
                    let is_new = set[start..end].contains(&false);
                    assert_eq!(board.insert(start as u64..end as u64), is_new, "seed {seed}");
                    set[start..end].fill(true);
                }
                let mut told = [false; 64];
                board.blocks.iter().for_each(|block| told[block.start as usize..block.end as usize].fill(true));
                assert_eq!(told, set, "seed {seed}");
                assert!(board.blocks.windows(2).all(|pair| pair[0].end < pair[1].start), "seed {seed}");
            }
        }
    }

    #[test]
    fn three_blocks_or_more_than_two_segments_above_mean_loss() {
        let three = board(&[(200, 201), (300, 301), (400, 401)]);
        assert!(three.is_lost(199, 100) && !three.is_lost(200, 100));
        let large = board(&[(200, 401)]);
        assert!(large.is_lost(199, 100) && !board(&[(200, 400)]).is_lost(199, 100));
    }

    #[test]
    fn pipe_counts_what_is_neither_lost_nor_arrived_and_what_was_sent_again() {
        // 0..100 is lost, 400..500 above the block is not.
        let board = board(&[(100, 400)]);
        assert_eq!(board.pipe(0, 500, 0, 100), 100);
        assert_eq!(board.pipe(0, 500, 60, 100), 160);
        assert_eq!(board.pipe(0, 500, 100, 100), 200);
        assert_eq!(Scoreboard::default().pipe(50, 500, 0, 100), 450);
        assert_eq!(board.hole(0), Some(0..100));
        assert_eq!((board.hole(20), board.hole(100)), (Some(20..100), None));
        assert_eq!((board.bytes_below(250), board.highest()), (150, Some(400)));
    }

    #[test]
    fn blocks_have_a_bound() {
        let mut board = Scoreboard::default();
        (0..10_000).for_each(|number| {
            board.insert(number * 10..number * 10 + 1);
        });
        assert_eq!(board.blocks.len(), MAX_BLOCKS);
        assert!(!board.insert(200_000..200_001));
    }
}
