//! What is stored in a log's device: the headers, the kept batches, and damage between them.

use std::ops::Range;
use std::sync::Arc;

use super::batch::{HEAD_BYTES, Head};
use super::header::{Header, Slot, VERSION};
use super::kept::{Kept, KeptBatch};
use super::ring::{BLOCK_BYTES, RING_START, Ring};
use super::{LogError, LogId, batch, batch_bytes};
use crate::device::{AlignedBuffer, Device};

/// How much of the ring is read at a time where batches are looked for.
const SEARCH_BYTES: usize = 1 << 20;

/// What is stored.
pub(crate) struct Survey {
    pub(crate) ring: Ring,
    pub(crate) header: Header,
    /// Whether the other header is not whole.
    pub(crate) has_damaged_header: bool,
    /// The batches in front of the first damage.
    pub(crate) kept: Kept,
    /// Damaged parts with whole batches behind them, as offsets in the device.
    pub(crate) damages: Vec<Range<u64>>,
    /// Whether the write of a batch behind the last one was interrupted.
    pub(crate) has_torn_end: bool,
}

impl Survey {
    /// Reads all that a device holds, and tells every whole batch to `visit`.
    pub(crate) fn make(device: Arc<dyn Device>, visit: &mut dyn FnMut(&[u8])) -> Result<Survey, LogError> {
        let (header, has_damaged_header) = newest_header(&*device)?;
        let ring = Ring::new(device, header.size_bytes)?;
        let mut walk = Walk::new(&ring, &header, visit);
        walk.run()?;
        let Walk { kept, damages, has_torn_end, .. } = walk;
        Ok(Survey { ring, header, has_damaged_header, kept, damages, has_torn_end })
    }
}

fn newest_header(device: &dyn Device) -> Result<(Header, bool), LogError> {
    let path = || device.path().to_owned();
    let mut blocks = AlignedBuffer::new(RING_START as usize);
    if device.size_bytes() < RING_START {
        return Err(LogError::NotALog { path: path() });
    }
    let read = device.read_at(0, &mut blocks);
    read.map_err(|source| LogError::Device { path: path(), action: "read the headers", source: Arc::new(source) })?;
    let slots = [0, 1].map(|number| Slot::parse(number as u64, &blocks[number * BLOCK_BYTES..][..BLOCK_BYTES]));
    match slots {
        [Slot::Whole(even), Slot::Whole(odd)] => Ok((if even.generation > odd.generation { even } else { odd }, false)),
        [Slot::Whole(header), _] | [_, Slot::Whole(header)] => Ok((header, true)),
        [Slot::Version(version), _] | [_, Slot::Version(version)] => {
            Err(LogError::Version { path: path(), version, known: VERSION })
        }
        [Slot::Blank, Slot::Blank] => Err(LogError::Blank { path: path() }),
        _ => Err(LogError::NotALog { path: path() }),
    }
}

/// A way through the ring, from the first kept batch on and once around.
///
/// A place is where in the ring something lies, counted on from the first kept batch. It equals the position of what
/// was written there, unless that was written in a later round.
struct Walk<'w> {
    ring: &'w Ring,
    header: &'w Header,
    visit: &'w mut dyn FnMut(&[u8]),
    buffer: AlignedBuffer,
    place: u64,
    /// The position and number of the batch that should come next.
    position: u64,
    number: u64,
    kept: Kept,
    damages: Vec<Range<u64>>,
    has_torn_end: bool,
}

impl<'w> Walk<'w> {
    fn new(ring: &'w Ring, header: &'w Header, visit: &'w mut dyn FnMut(&[u8])) -> Walk<'w> {
        Walk {
            ring,
            header,
            visit,
            buffer: AlignedBuffer::new(batch_bytes(ring)),
            place: header.first_position,
            position: header.first_position,
            number: header.first_number,
            kept: Kept::new(header.tail, header.first_position, header.first_number),
            damages: Vec::new(),
            has_torn_end: false,
        }
    }

    fn run(&mut self) -> Result<(), LogError> {
        loop {
            self.follow()?;
            let Some((place, head)) = self.search()? else {
                self.check_first();
                return Ok(());
            };
            self.damages.push(self.ring.offset_bytes(self.place)..self.ring.offset_bytes(place));
            (self.place, self.position, self.number) = (place, head.position, head.number);
        }
    }

    /// The batch of the tail was durable when the header was written.
    fn check_first(&mut self) {
        if self.header.tail > self.header.first_position && self.place == self.header.first_position {
            let from = self.ring.offset_bytes(self.place);
            self.damages.push(from..from + BLOCK_BYTES as u64);
        }
    }

    /// The place behind the ring's last block.
    fn limit(&self) -> u64 {
        self.header.first_position + self.ring.bytes()
    }

    /// Goes from batch to batch up to the first that is not the next one.
    fn follow(&mut self) -> Result<(), LogError> {
        while self.place < self.limit() {
            self.ring.read(self.place, &mut self.buffer[..BLOCK_BYTES])?;
            let head = Head::parse(&self.buffer[..BLOCK_BYTES], &self.header.id);
            let next = head.filter(|head| (head.position, head.number) == (self.position, self.number));
            self.has_torn_end = next.is_some();
            let Some(head) = next else { return Ok(()) };
            let room = Room { ring: self.ring, id: &self.header.id, limit: self.limit() };
            if !room.has_whole(self.place, &head, &mut self.buffer)? {
                return Ok(());
            }
            self.keep(&head);
        }
        self.has_torn_end = false;
        Ok(())
    }

    fn keep(&mut self, head: &Head) {
        let batch = &self.buffer[..head.length];
        if self.damages.is_empty() {
            let oldest_ms = batch::record_at(batch, HEAD_BYTES).map_or(0, |(record, _)| record.time_ms);
            self.kept.push(KeptBatch { position: head.position, length: head.length as u32, oldest_ms });
        }
        (self.visit)(batch);
        self.place += head.stored_bytes() as u64;
        self.position += head.stored_bytes() as u64;
        self.number += 1;
    }

    /// Looks for a whole batch that was written after the one that should be here.
    fn search(&self) -> Result<Option<(u64, Head)>, LogError> {
        let mut chunk = AlignedBuffer::new(SEARCH_BYTES);
        let mut place = self.place;
        while place < self.limit() {
            let length = (self.limit() - place).min(SEARCH_BYTES as u64) as usize;
            self.ring.read(place, &mut chunk[..length])?;
            for (block, place) in chunk[..length].chunks(BLOCK_BYTES).zip((place..).step_by(BLOCK_BYTES)) {
                if let Some(head) = self.later_batch(place, block)? {
                    return Ok(Some((place, head)));
                }
            }
            place += length as u64;
        }
        Ok(None)
    }

    /// The head of the batch at a place, if that is whole, in its own place, and not of an earlier round.
    fn later_batch(&self, place: u64, block: &[u8]) -> Result<Option<Head>, LogError> {
        let Some(head) = Head::parse(block, &self.header.id) else { return Ok(None) };
        let is_own_place = self.ring.offset_bytes(head.position) == self.ring.offset_bytes(place);
        if !is_own_place || head.position < self.position {
            return Ok(None);
        }
        let mut buffer = AlignedBuffer::new(batch_bytes(self.ring));
        let room = Room { ring: self.ring, id: &self.header.id, limit: self.limit() };
        Ok(room.has_whole(place, &head, &mut buffer)?.then_some(head))
    }
}

/// Where batches may be.
struct Room<'r> {
    ring: &'r Ring,
    id: &'r LogId,
    limit: u64,
}

impl Room<'_> {
    /// Reads what a head at `place` announces, and returns whether all of it is what was written.
    fn has_whole(&self, place: u64, head: &Head, buffer: &mut AlignedBuffer) -> Result<bool, LogError> {
        let length = head.length;
        if length < HEAD_BYTES || head.stored_bytes() > buffer.len() || place + head.stored_bytes() as u64 > self.limit
        {
            return Ok(false);
        }
        self.ring.read(place, &mut buffer[..head.stored_bytes()])?;
        Ok(head.is_whole(&mut buffer[..length], self.id))
    }
}
