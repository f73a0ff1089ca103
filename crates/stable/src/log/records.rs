use super::batch::{self, BatchHead, HEAD_BYTES};
use super::ring::{BLOCK_BYTES, blocks};
use super::{Log, LogError, Position, batch_bytes};
use crate::device::AlignedBuffer;

/// The kept records of a log, oldest first, each with the position behind it. Records trimmed meanwhile may be missing.
/// The iterator ends after an error.
#[derive(Debug)]
pub struct Records<'l> {
    log: &'l Log,
    /// The position of the next batch, or before it.
    next: u64,
    /// Batches from here on are newer than this iterator.
    until: u64,
    buffer: AlignedBuffer,
    current: Option<CurrentBatch>,
}

/// The batch whose records come next.
#[derive(Debug)]
struct CurrentBatch {
    position: u64,
    length: usize,
    at: usize,
}

impl Log {
    /// Reads the durable records that are kept, oldest first.
    pub fn records(&self) -> Records<'_> {
        let until = self.state().kept().next_position();
        let buffer = AlignedBuffer::new(batch_bytes(&self.ring));
        Records { log: self, next: 0, until, buffer, current: None }
    }
}

impl Records<'_> {
    /// The next record of the current batch that is needed.
    fn next_in_batch(&mut self) -> Option<(Position, Vec<u8>)> {
        let current = self.current.as_mut()?;
        let batch = &self.buffer[..current.length];
        while let Some((record, at)) = batch::record_at(batch, current.at) {
            current.at = at;
            let end = current.position + at as u64;
            if end > self.log.tail().bytes() {
                return Some((Position::new(end), record.bytes.to_vec()));
            }
        }
        self.current = None;
        None
    }

    /// Reads the next batch, and returns whether there is one.
    fn next_batch(&mut self) -> Result<bool, LogError> {
        loop {
            let found = self.log.state().kept().from(self.next);
            let Some((number, kept)) = found.filter(|(_, kept)| kept.position < self.until) else { return Ok(false) };
            let length = kept.length as usize;
            self.log.ring.read(kept.position, &mut self.buffer[..blocks(length)])?;
            self.next = kept.position + 1;
            if self.is_batch(number, kept.position, length) {
                self.current = Some(CurrentBatch { position: kept.position, length, at: HEAD_BYTES });
                return Ok(true);
            }
            // The batch may have been trimmed and overwritten while it was read.
            if self.log.state().kept().first_position() <= kept.position {
                return Err(self.damaged(kept.position, length));
            }
        }
    }

    fn is_batch(&mut self, number: u64, position: u64, length: usize) -> bool {
        let id = &self.log.id;
        let head = BatchHead::parse(&self.buffer[..BLOCK_BYTES], id);
        head.is_some_and(|head| {
            let is_expected = (head.number, head.position, head.length) == (number, position, length);
            is_expected && head.is_whole(&mut self.buffer[..length], id)
        })
    }

    fn damaged(&self, position: u64, length: usize) -> LogError {
        let from_bytes = self.log.ring.offset_bytes(position);
        let to_bytes = self.log.ring.offset_bytes(position + blocks(length) as u64);
        LogError::Damaged { path: self.log.ring.path(), from_bytes, to_bytes }
    }
}

impl Iterator for Records<'_> {
    type Item = Result<(Position, Vec<u8>), LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.next_in_batch() {
                return Some(Ok(record));
            }
            match self.next_batch() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.next = u64::MAX;
                    return Some(Err(error));
                }
            }
        }
    }
}
