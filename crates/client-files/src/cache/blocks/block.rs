//! One block of a file: which of its bytes are known, and how far changed bytes have come towards the server.
//!
//! A changed byte is `unsent`, then `writing` while a WRITE carries it, then `unstable` while only the server's memory
//! has it, then `committing` while a COMMIT is in flight, and then clean. It may be changed again at any point. Bytes
//! in `writing` are never sent a second time meanwhile, because the server may carry out two WRITEs in any order. A
//! byte that is not clean is dirty, and a block is kept until all of it is clean.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::ages::BlockAges;
use super::fill::Fill;
use super::ids::FileId;
use super::ranges::Ranges;

/// Parts of a block in the same state, and the number of the oldest change among them.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) ranges: Ranges,
    since: u64,
}

impl Parts {
    fn add(&mut self, range: Range<u32>, since: u64) {
        self.since = if self.ranges.is_empty() { since } else { self.since.min(since) };
        self.ranges.insert(range);
    }

    /// Moves everything to `other`.
    fn move_to(&mut self, other: &mut Parts) {
        let since = self.since;
        let ranges = std::mem::take(&mut self.ranges);
        ranges.iter().for_each(|range| other.add(range.clone(), since));
    }

    /// The number of the oldest change, or `u64::MAX` if there is none.
    pub(super) fn since(&self) -> u64 {
        if self.ranges.is_empty() { u64::MAX } else { self.since }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) file: FileId,
    pub(super) index: u64,
    /// Empty until some bytes are known. Readers share it while they copy from it.
    pub(super) data: Bytes,
    /// The bytes that readers may see.
    pub(super) known: Ranges,
    pub(super) unsent: Parts,
    pub(super) writing: Parts,
    pub(super) unstable: Parts,
    pub(super) committing: Parts,
    /// The ages that it counts with in its file.
    pub(super) counted_ages: BlockAges,
    /// The READ that fetches the bytes that are not known.
    pub(super) fill: Option<Arc<Fill>>,
    /// Where the file was truncated during the fill: bytes fetched for offsets from here on are stale.
    pub(super) fill_limit: u32,
    /// The block was invalidated during the fill, so the fetched data is discarded.
    pub(super) is_outdated: bool,
    /// How many readers and writers wait for it, or hold what they waited for.
    pub(super) pins: u32,
    /// No reader has looked at it since it was requested.
    pub(super) is_unseen: bool,
    /// It was used since its place in the order of use was last checked.
    pub(super) is_used: bool,
    /// It is no longer in the file; only those that wait for it see it.
    pub(super) is_detached: bool,
}

impl Block {
    pub(super) fn new(file: FileId, index: u64) -> Block {
        Block {
            file,
            index,
            data: Bytes::new(),
            known: Ranges::default(),
            unsent: Parts::default(),
            writing: Parts::default(),
            unstable: Parts::default(),
            committing: Parts::default(),
            counted_ages: BlockAges::CLEAN,
            fill: None,
            fill_limit: u32::MAX,
            is_outdated: false,
            pins: 0,
            is_unseen: false,
            is_used: false,
            is_detached: false,
        }
    }

    /// The numbers of its oldest changes.
    pub(super) fn ages(&self) -> BlockAges {
        let unsent = self.unsent.since();
        BlockAges {
            unsent,
            unwritten: unsent.min(self.writing.since()),
            unstable: self.unstable.since(),
            committing: self.committing.since(),
        }
    }

    /// Whether some of it is not on the server's stable storage yet.
    pub(super) fn is_dirty(&self) -> bool {
        !(self.unsent.is_empty() && self.writing.is_empty() && self.unstable.is_empty() && self.committing.is_empty())
    }

    /// The end of the last byte that the server may still lose, or 0.
    pub(super) fn dirty_end(&self) -> u32 {
        let all = [&self.unsent, &self.writing, &self.unstable, &self.committing];
        all.into_iter().map(|parts| parts.ranges.end()).max().unwrap_or(0)
    }

    /// Whether some parts are kept only for retransmission. The server's current bytes there can be read after the
    /// COMMIT: the block has no place for both.
    pub(super) fn has_hidden_parts(&self) -> bool {
        let mut sent = self.unstable.ranges.iter().chain(self.committing.ranges.iter());
        sent.any(|part| !self.known.contains(part))
    }

    /// Changes the bytes in place, or in a copy while somebody else holds them, too.
    fn edit(&mut self, block_bytes: u32, change: impl FnOnce(&mut [u8])) {
        let mut memory = match std::mem::take(&mut self.data) {
            none if none.is_empty() => BytesMut::zeroed(block_bytes as usize),
            data => BytesMut::from(data),
        };
        change(&mut memory);
        self.data = memory.freeze();
    }

    /// Stores `data` as change number `since`.
    pub(super) fn write(&mut self, at: u32, data: &[u8], block_bytes: u32, since: u64) {
        let range = at..at + data.len() as u32;
        if self.data.is_empty() && range == (0..block_bytes) {
            self.data = Bytes::copy_from_slice(data);
        } else {
            self.edit(block_bytes, |memory| memory[range.start as usize..range.end as usize].copy_from_slice(data));
        }
        self.known.insert(range.clone());
        self.unsent.add(range, since);
    }

    /// Fills unknown parts with the server's `bytes`, and with zeros behind them. An empty block takes over a whole
    /// block's memory.
    pub(super) fn install(&mut self, mut bytes: Bytes, block_bytes: u32) {
        bytes.truncate(block_bytes.min(self.fill_limit) as usize);
        if self.data.is_empty() && bytes.len() == block_bytes as usize {
            self.data = bytes;
        } else {
            let mut gaps = Ranges::default();
            gaps.insert(0..block_bytes);
            self.known.iter().for_each(|range| gaps.remove(range));
            self.edit(block_bytes, |memory| gaps.iter().for_each(|gap| fill_gap(memory, gap, &bytes)));
        }
        self.known.insert(0..block_bytes);
    }

    /// A WRITE is sent with this part.
    pub(super) fn begin_write(&mut self, range: &Range<u32>) {
        let since = self.unsent.since();
        self.unsent.ranges.remove(range);
        self.writing.add(range.clone(), since);
    }

    /// The server has this part, though perhaps in memory only.
    pub(super) fn written(&mut self, range: &Range<u32>, is_stable: bool) {
        let since = self.writing.since();
        self.writing.ranges.remove(range);
        if !is_stable {
            self.unstable.add(range.clone(), since);
        }
    }

    /// The server did not take this part; it will be sent again.
    pub(super) fn not_written(&mut self, range: &Range<u32>) {
        let since = self.writing.since();
        self.writing.ranges.remove(range);
        self.unsent.add(range.clone(), since);
    }

    /// The server refused this part, so its bytes there are unknown.
    pub(super) fn refused(&mut self, range: &Range<u32>) {
        self.writing.ranges.remove(range);
        self.known.remove(range);
        self.known.insert_all(&self.unsent.ranges);
    }

    pub(super) fn begin_commit(&mut self) {
        self.unstable.move_to(&mut self.committing);
    }

    pub(super) fn committed(&mut self) {
        self.committing.ranges.clear();
    }

    /// The server lost the data that the COMMIT was for.
    pub(super) fn not_committed(&mut self) {
        self.committing.move_to(&mut self.unsent);
        self.known.insert_all(&self.unsent.ranges);
    }

    /// The server lost its unstable data.
    pub(super) fn lost(&mut self) {
        self.unstable.move_to(&mut self.unsent);
        self.known.insert_all(&self.unsent.ranges);
    }

    /// Drops all changes: none of them will reach the server any more.
    pub(super) fn give_up(&mut self) {
        for parts in [&mut self.unsent, &mut self.writing, &mut self.unstable, &mut self.committing] {
            parts.ranges.clear();
        }
        self.known.clear();
    }

    /// Invalidates the clean bytes. Dirty bytes and bytes being written stay known. Another client may have overwritten
    /// unstable bytes, but they are kept in case the server loses them.
    pub(super) fn forget_clean(&mut self) {
        self.known.clear();
        self.known.insert_all(&self.unsent.ranges);
        self.known.insert_all(&self.writing.ranges);
    }

    /// Truncates the block's part of the file to `end`. Bytes behind it read as zeros if the file grows again.
    pub(super) fn cut(&mut self, end: u32, block_bytes: u32) {
        let tail = end..block_bytes;
        for parts in [&mut self.unsent, &mut self.writing, &mut self.unstable, &mut self.committing] {
            parts.ranges.remove(&tail);
        }
        if self.fill.is_some() {
            self.fill_limit = self.fill_limit.min(end);
        }
        if !self.data.is_empty() {
            self.edit(block_bytes, |memory| memory[end as usize..].fill(0));
            self.known.insert(tail);
        }
    }
}

/// Copies the fetched bytes into a gap, and zeros behind the last of them.
fn fill_gap(memory: &mut [u8], gap: &Range<u32>, bytes: &[u8]) {
    let (from, to) = (gap.start as usize, gap.end as usize);
    let told = bytes.len().clamp(from, to);
    memory[from..told].copy_from_slice(&bytes[from.min(bytes.len())..told.min(bytes.len())]);
    memory[told..to].fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u32 = 16;

    fn written(parts: &[(u32, &[u8])]) -> Block {
        let mut block = Block::new(FileId::new(0), 0);
        for (number, (at, data)) in parts.iter().enumerate() {
            block.write(*at, data, BYTES, number as u64 + 1);
        }
        block
    }

    #[test]
    fn bytes_of_the_server_go_where_nothing_was_written() {
        let mut block = written(&[(2, b"ab"), (8, b"c")]);
        block.install(Bytes::from_static(b"0123456789"), BYTES);
        assert_eq!(&*block.data, b"01ab4567c9\0\0\0\0\0\0");
        assert!(block.known.contains(&(0..BYTES)));
    }

    #[test]
    fn change_is_dirty_until_it_is_committed() {
        let mut block = written(&[(0, b"ab"), (4, b"cd")]);
        assert_eq!((block.ages().unwritten, block.dirty_end()), (1, 6));
        block.begin_write(&(0..2));
        block.written(&(0..2), false);
        assert_eq!((block.ages().unwritten, block.ages().unstable), (1, 1));
        block.begin_write(&(4..6));
        block.written(&(4..6), true);
        assert_eq!(block.ages().unwritten, u64::MAX);
        block.begin_commit();
        assert!(block.is_dirty());
        block.committed();
        assert!(!block.is_dirty());
    }

    #[test]
    fn what_the_server_lost_is_dirty_again() {
        let mut block = written(&[(0, b"ab")]);
        block.begin_write(&(0..2));
        block.written(&(0..2), false);
        block.lost();
        assert!(block.unsent.ranges.contains(&(0..2)));
        block.begin_write(&(0..2));
        block.written(&(0..2), false);
        block.begin_commit();
        block.not_committed();
        assert!(block.unsent.ranges.contains(&(0..2)) && block.committing.is_empty());
    }

    #[test]
    fn change_during_a_write_stays_when_the_write_is_refused() {
        let mut block = written(&[(0, b"abcd")]);
        block.begin_write(&(0..4));
        block.write(1, b"X", BYTES, 9);
        block.refused(&(0..4));
        assert_eq!((block.known.count(), block.known.contains(&(1..2)), block.ages().unwritten), (1, true, 9));
    }

    #[test]
    fn cut_tail_reads_as_zeros_even_when_old_bytes_arrive_late() {
        let mut block = written(&[(10, b"abc")]);
        block.fill = Some(Arc::default());
        block.cut(4, BYTES);
        assert!(!block.is_dirty());
        block.install(Bytes::from_static(&[7; 16]), BYTES);
        assert_eq!(&*block.data, b"\x07\x07\x07\x07\0\0\0\0\0\0\0\0\0\0\0\0");
    }
}
