use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use rpc::record::{self, Limits, Scan};

/// The received bytes of a stream that were not delivered. Records are taken out of it without a copy.
#[derive(Debug)]
pub struct Incoming {
    bytes: BytesMut,
    /// Blocks of earlier replies, oldest first, for reuse once the last reply in them is dropped.
    spares: VecDeque<BytesMut>,
    limits: Limits,
    /// The least length of the record at the front, in bytes.
    needed: usize,
    /// Whether the last record filled a block by itself.
    was_large: bool,
}

impl Incoming {
    /// Memory for small replies, in bytes.
    const BLOCK_BYTES: usize = 256 * 1024;
    /// The most blocks kept for reuse.
    const MAX_SPARES: usize = 8;
    /// With less room than this, in bytes, another block is taken.
    const MIN_ROOM_BYTES: usize = 16 * 1024;
    /// The bytes read behind a large record. Another one is likely, and what is read of it must be copied to a block of
    /// its own.
    const BEGIN_BYTES: usize = 4 * 1024;
    /// The most bytes of small replies in one read. The next calls are sent before the next read, so that the server
    /// stays busy.
    const READ_BYTES: usize = 64 * 1024;

    /// Makes an empty one that refuses records over `limits`.
    pub fn new(limits: Limits) -> Incoming {
        Incoming { bytes: BytesMut::new(), spares: VecDeque::new(), limits, needed: 0, was_large: false }
    }

    /// Memory to receive into, and how many bytes of it to use. A read stops at the end of a record larger than a
    /// block, so that the next record need not be copied. Small records are limited to what is handled at a time.
    pub fn room(&mut self) -> (&mut BytesMut, usize) {
        if self.bytes.is_empty() {
            // The front of the block is used again once its replies are dropped: it is in the processor's caches. While
            // one is kept, the rest of the block follows.
            let _ = self.bytes.try_reclaim(Self::BLOCK_BYTES);
        }
        let missing = self.needed.saturating_sub(self.bytes.len());
        if self.bytes.capacity() - self.bytes.len() < missing.max(Self::MIN_ROOM_BYTES) {
            self.change_block(missing.max(Self::BLOCK_BYTES));
        }
        let is_large = self.needed > Self::BLOCK_BYTES;
        let most = match (is_large, self.was_large && self.bytes.is_empty()) {
            (true, _) => missing,
            (false, true) => Self::BEGIN_BYTES,
            (false, false) => missing.max(Self::READ_BYTES),
        };
        let room = most.min(self.bytes.capacity() - self.bytes.len());
        (&mut self.bytes, room)
    }

    /// Continues in a block with `room` bytes behind the received ones.
    fn change_block(&mut self, room: usize) {
        if self.bytes.try_reclaim(room) {
            return;
        }
        let wanted = self.bytes.len() + room;
        let free = self.spares.iter_mut().position(|spare| spare.try_reclaim(wanted));
        let mut block =
            free.and_then(|place| self.spares.remove(place)).unwrap_or_else(|| BytesMut::with_capacity(wanted));
        block.extend_from_slice(&self.bytes);
        let mut old = std::mem::replace(&mut self.bytes, block);
        old.clear();
        if self.spares.len() == Self::MAX_SPARES {
            self.spares.pop_front();
        }
        self.spares.push_back(old);
    }

    /// Takes out the next whole record.
    ///
    /// # Errors
    /// When the stream contains no record within the limits: no later byte of it can be understood.
    pub fn next_message(&mut self) -> Result<Option<Bytes>, record::Error> {
        match record::scan(&mut self.bytes, &self.limits)? {
            Scan::Partial(needed) => {
                self.needed = needed;
                Ok(None)
            }
            Scan::Whole { message, consumed } => {
                self.needed = 0;
                self.was_large = consumed > Self::BLOCK_BYTES;
                Ok(Some(self.bytes.split_to(consumed).freeze().slice(message)))
            }
        }
    }

    /// Drops everything: another stream begins.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.needed, self.was_large) = (0, false);
    }
}

#[cfg(test)]
mod tests {
    use bytes::BufMut;

    use super::*;

    const LIMITS: Limits = Limits { max_bytes: 1 << 20, max_fragments: 4 };

    fn record(bytes: &[u8]) -> Vec<u8> {
        [&record::last_mark(bytes.len()).to_be_bytes()[..], bytes].concat()
    }

    fn receive(incoming: &mut Incoming, stream: &mut &[u8], most: usize) {
        let (memory, room) = incoming.room();
        let (now, later) = stream.split_at(room.min(most).min(stream.len()));
        memory.put_slice(now);
        *stream = later;
    }

    #[test]
    fn records_come_out_whole_however_the_stream_is_cut() {
        let records: Vec<Vec<u8>> = [0, 5, 300_000, 16, 700_000, 1].map(|length| vec![length as u8; length]).into();
        let stream: Vec<u8> = records.iter().flat_map(|bytes| record(bytes)).collect();
        for most in [3, 1000, 65_536, usize::MAX] {
            let (mut incoming, mut rest, mut found) = (Incoming::new(LIMITS), &stream[..], Vec::new());
            while !rest.is_empty() {
                receive(&mut incoming, &mut rest, most);
                found.extend(std::iter::from_fn(|| incoming.next_message().unwrap()));
            }
            assert!(found.iter().eq(&records), "cut at {most}");
        }
    }

    #[test]
    fn of_a_large_record_that_follows_another_one_hardly_anything_is_moved() {
        let mut incoming = Incoming::new(LIMITS);
        let stream = record(&vec![7; 600_000]);
        for first in [Incoming::READ_BYTES, Incoming::BEGIN_BYTES, Incoming::BEGIN_BYTES] {
            let mut rest = &stream[..];
            receive(&mut incoming, &mut rest, usize::MAX);
            assert_eq!(stream.len() - rest.len(), first);
            assert!(incoming.next_message().unwrap().is_none());
            receive(&mut incoming, &mut rest, usize::MAX);
            assert!(rest.is_empty() && incoming.next_message().unwrap().is_some());
        }
    }

    #[test]
    fn block_is_used_again_when_its_replies_are_gone() {
        let mut incoming = Incoming::new(LIMITS);
        let stream = record(&vec![7; 600_000]);
        let mut places = std::collections::HashSet::new();
        for _ in 0..50 {
            let mut rest = &stream[..];
            while !rest.is_empty() {
                receive(&mut incoming, &mut rest, usize::MAX);
                if let Some(message) = incoming.next_message().unwrap() {
                    places.insert(message.as_ptr());
                }
            }
        }
        assert!(places.len() <= 3, "{} places in memory", places.len());
    }

    #[test]
    fn front_of_a_block_is_used_again_when_small_replies_are_gone_and_not_before() {
        let mut incoming = Incoming::new(LIMITS);
        let mut place = |kept: &mut Vec<Bytes>| {
            receive(&mut incoming, &mut &record(&[7; 100])[..], usize::MAX);
            let message = incoming.next_message().unwrap().unwrap();
            let place = message.as_ptr();
            kept.push(message);
            place
        };
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        let first = place(&mut kept);
        assert_ne!(place(&mut gone), first);
        assert_eq!(kept[0], [7; 100][..]);
        kept.clear();
        for _ in 0..10 {
            gone.clear();
            assert_eq!(place(&mut gone), first);
        }
    }

    #[test]
    fn small_records_come_in_parts_and_one_that_has_begun_comes_whole() {
        let mut incoming = Incoming::new(LIMITS);
        let stream: Vec<u8> = (0..100).flat_map(|byte| record(&[byte; 4000])).collect();
        let mut rest = &stream[..];
        receive(&mut incoming, &mut rest, usize::MAX);
        assert_eq!(stream.len() - rest.len(), Incoming::READ_BYTES);
        let whole = std::iter::from_fn(|| incoming.next_message().unwrap()).count();
        assert_eq!(whole, Incoming::READ_BYTES / 4004);

        let mut incoming = Incoming::new(LIMITS);
        let stream = record(&[7; 3 * Incoming::READ_BYTES]);
        let mut rest = &stream[..];
        receive(&mut incoming, &mut rest, 1000);
        assert!(incoming.next_message().unwrap().is_none());
        receive(&mut incoming, &mut rest, usize::MAX);
        assert!(rest.is_empty() && incoming.next_message().unwrap().is_some());
    }

    #[test]
    fn record_over_the_limit_takes_no_memory() {
        let mut incoming = Incoming::new(LIMITS);
        receive(&mut incoming, &mut &record::last_mark(1 << 30).to_be_bytes()[..], 4);
        assert!(incoming.next_message().is_err());
        assert!(incoming.bytes.capacity() <= 2 * Incoming::BLOCK_BYTES);
    }
}
