//! Reads the contents of a log's device: headers, kept batches, and damage between them.

use std::sync::Arc;

use super::batch::{BatchHead, BatchRecords, HEAD_BYTES};
use super::header::{Header, HeaderBlock, VERSION};
use super::kept::{KeptBatch, KeptBatches};
use super::ring::{BLOCK_BYTES, RING_START, Ring};
use super::{LogError, LogId, batch, batch_bytes};
use crate::device::{AlignedBuffer, Device};

/// How much of the ring is read at a time in a search for batches.
const SEARCH_BYTES: usize = 1 << 20;

/// A part of a device that held durable records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Where in the device it begins.
    pub from_bytes: u64,
    /// Where complete batches begin again. If this is not behind the beginning, the damage wraps around at the device's
    /// end.
    pub to_bytes: u64,
}

/// Sums over the complete batches, including those behind damage.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) batches: u64,
    /// The bytes that they take in the device.
    pub(crate) stored_bytes: u64,
    /// Records that are needed.
    pub(crate) records: u64,
    /// The bytes of these records.
    pub(crate) record_bytes: u64,
    /// When the oldest of them was appended, in ms since 1970.
    pub(crate) oldest_ms: Option<u64>,
}

impl Totals {
    fn add(&mut self, head: &BatchHead, batch: &[u8], tail: u64) {
        self.batches += 1;
        self.stored_bytes += head.stored_bytes() as u64;
        for (record, _) in BatchRecords::new(batch).filter(|(_, at)| head.position + *at as u64 > tail) {
            self.records += 1;
            self.record_bytes += record.bytes.len() as u64;
            self.oldest_ms.get_or_insert(record.time_ms);
        }
    }
}

/// What is stored.
pub(crate) struct Survey {
    pub(crate) ring: Ring,
    pub(crate) header: Header,
    /// Whether the other header is incomplete.
    pub(crate) has_damaged_header: bool,
    /// The batches before the first damage.
    pub(crate) kept: KeptBatches,
    pub(crate) totals: Totals,
    /// Damaged parts, followed by complete batches.
    pub(crate) damages: Vec<Damage>,
    /// Whether the write of a batch behind the last one was interrupted.
    pub(crate) has_torn_end: bool,
}

impl Survey {
    /// Reads the whole device.
    pub(crate) fn make(device: Arc<dyn Device>) -> Result<Survey, LogError> {
        let (header, has_damaged_header) = newest_header(&*device)?;
        let ring = Ring::new(device, header.size_bytes)?;
        let mut walk = RingWalk::new(&ring, &header);
        walk.run()?;
        let RingWalk { kept, totals, damages, has_torn_end, .. } = walk;
        Ok(Survey { ring, header, has_damaged_header, kept, totals, damages, has_torn_end })
    }
}

pub(super) fn newest_header(device: &dyn Device) -> Result<(Header, bool), LogError> {
    let path = || device.path().to_owned();
    let mut blocks = AlignedBuffer::new(RING_START as usize);
    if device.size_bytes() < RING_START {
        return Err(LogError::NotALog { path: path() });
    }
    let read = device.read_at(0, &mut blocks);
    read.map_err(|source| LogError::Device { path: path(), action: "read the headers", source: Arc::new(source) })?;
    let slots = [0, 1].map(|number| HeaderBlock::parse(number as u64, &blocks[number * BLOCK_BYTES..][..BLOCK_BYTES]));
    match slots {
        [HeaderBlock::Whole(even), HeaderBlock::Whole(odd)] => {
            Ok((if even.generation > odd.generation { even } else { odd }, false))
        }
        [HeaderBlock::Whole(header), _] | [_, HeaderBlock::Whole(header)] => Ok((header, true)),
        [HeaderBlock::Version(version), _] | [_, HeaderBlock::Version(version)] => {
            Err(LogError::Version { path: path(), version, known: VERSION })
        }
        [HeaderBlock::Blank, HeaderBlock::Blank] => Err(LogError::Blank { path: path() }),
        _ => Err(LogError::NotALog { path: path() }),
    }
}

/// A walk through the ring, from the first kept batch once around.
///
/// A place counts ring bytes from the first kept batch on. It equals the position of the data there, unless a later
/// round overwrote them.
struct RingWalk<'w> {
    ring: &'w Ring,
    header: &'w Header,
    totals: Totals,
    buffer: AlignedBuffer,
    place: u64,
    /// The position and number of the batch that should come next.
    position: u64,
    number: u64,
    kept: KeptBatches,
    damages: Vec<Damage>,
    has_torn_end: bool,
}

impl<'w> RingWalk<'w> {
    fn new(ring: &'w Ring, header: &'w Header) -> RingWalk<'w> {
        RingWalk {
            ring,
            header,
            totals: Totals::default(),
            buffer: AlignedBuffer::new(batch_bytes(ring)),
            place: header.first_position,
            position: header.first_position,
            number: header.first_number,
            kept: KeptBatches::new(header.tail, header.first_position, header.first_number),
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
            self.note_damage(place);
            (self.place, self.position, self.number) = (place, head.position, head.number);
        }
    }

    /// The batch at the tail was durable when the header was written.
    fn check_first(&mut self) {
        if self.header.tail > self.header.first_position && self.place == self.header.first_position {
            self.note_damage(self.place + BLOCK_BYTES as u64);
        }
    }

    fn note_damage(&mut self, end: u64) {
        let [from_bytes, to_bytes] = [self.place, end].map(|place| self.ring.offset_bytes(place));
        self.damages.push(Damage { from_bytes, to_bytes });
    }

    /// The place behind the ring's last block.
    fn limit(&self) -> u64 {
        self.header.first_position + self.ring.bytes()
    }

    /// Follows batches up to the first that is not the next one.
    fn follow(&mut self) -> Result<(), LogError> {
        while self.place < self.limit() {
            self.ring.read(self.place, &mut self.buffer[..BLOCK_BYTES])?;
            let head = BatchHead::parse(&self.buffer[..BLOCK_BYTES], &self.header.id);
            let next = head.filter(|head| (head.position, head.number) == (self.position, self.number));
            self.has_torn_end = next.is_some();
            let Some(head) = next else { return Ok(()) };
            let room = BatchRegion { ring: self.ring, id: &self.header.id, limit: self.limit() };
            if !room.has_whole(self.place, &head, &mut self.buffer)? {
                return Ok(());
            }
            self.keep(&head);
        }
        self.has_torn_end = false;
        Ok(())
    }

    fn keep(&mut self, head: &BatchHead) {
        let batch = &self.buffer[..head.length];
        if self.damages.is_empty() {
            let oldest_ms = batch::record_at(batch, HEAD_BYTES).map_or(0, |(record, _)| record.time_ms);
            self.kept.push(KeptBatch { position: head.position, length: head.length as u32, oldest_ms });
        }
        self.totals.add(head, batch, self.header.tail);
        self.place += head.stored_bytes() as u64;
        self.position += head.stored_bytes() as u64;
        self.number += 1;
    }

    /// Searches for a complete batch that was written after the expected one.
    fn search(&self) -> Result<Option<(u64, BatchHead)>, LogError> {
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

    /// The head of the batch at a place, if it is valid, belongs there, and is not of an earlier round.
    fn later_batch(&self, place: u64, block: &[u8]) -> Result<Option<BatchHead>, LogError> {
        let Some(head) = BatchHead::parse(block, &self.header.id) else { return Ok(None) };
        let is_own_place = self.ring.offset_bytes(head.position) == self.ring.offset_bytes(place);
        if !is_own_place || head.position < self.position {
            return Ok(None);
        }
        let mut buffer = AlignedBuffer::new(batch_bytes(self.ring));
        let room = BatchRegion { ring: self.ring, id: &self.header.id, limit: self.limit() };
        Ok(room.has_whole(place, &head, &mut buffer)?.then_some(head))
    }
}

/// Where batches may be.
struct BatchRegion<'r> {
    ring: &'r Ring,
    id: &'r LogId,
    limit: u64,
}

impl BatchRegion<'_> {
    /// Reads the batch of a head at `place`, and returns whether it is complete.
    fn has_whole(&self, place: u64, head: &BatchHead, buffer: &mut AlignedBuffer) -> Result<bool, LogError> {
        let length = head.length;
        if length < HEAD_BYTES || head.stored_bytes() > buffer.len() || place + head.stored_bytes() as u64 > self.limit
        {
            return Ok(false);
        }
        self.ring.read(place, &mut buffer[..head.stored_bytes()])?;
        Ok(head.is_whole(&mut buffer[..length], self.id))
    }
}
