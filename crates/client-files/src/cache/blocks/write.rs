//! Taking in written data.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::block::Block;
use super::ids::{BlockId, FileId};
use super::late_io::LateIo;
use super::read::{Job, Progress, Step, Then};
use super::table::BlockTable;
use crate::Result;

/// How long dirty data waits although nobody asks for it: long enough to gather most of its neighbours.
const WRITE_DELAY: Duration = Duration::from_secs(2);
/// The most known parts that a block tracks; beyond that the whole block is read first.
const MAX_PARTS: usize = 8;

#[derive(Debug, Clone, Copy)]
pub(super) struct Author<'a> {
    pub(super) file: FileId,
    /// The open that the data is written through later.
    pub(super) io: Option<&'a Arc<dyn LateIo>>,
    /// Whether this open may read.
    pub(super) can_read: bool,
    pub(super) now: Instant,
}

/// What of one block is written.
struct Part {
    index: u64,
    bytes: Range<u32>,
}

impl BlockTable {
    /// Takes in as much of `data` as there is room for.
    ///
    /// # Errors
    /// The error of an earlier write of the same user, once.
    pub(super) fn write(
        &mut self,
        author: Author<'_>,
        progress: &mut Progress,
        at: u64,
        data: &[u8],
    ) -> Result<(usize, Step)> {
        let file = author.file;
        if let Some(error) = self.file(file).late.failures.take(author.io) {
            return Err(error);
        }
        if self.is_changed_by_another(author) {
            // Data of one user must not be sent as another's, nor data written under locks through an open with other
            // locks or none.
            self.want_written(file, true);
            return Ok((0, Step { then: Then::Written, jobs: Vec::new() }));
        }
        let (end, mut place, mut jobs) = (at + data.len() as u64, at, Vec::new());
        let then = loop {
            if place >= end {
                break Then::Done;
            }
            let index = place >> self.config.block_shift;
            let part = Part { index, bytes: self.config.part(index, place, end) };
            let from = &data[(place - at) as usize..][..part.bytes.len()];
            let slot = match self.room_for(author, progress, &part, &mut jobs) {
                Ok(slot) => slot,
                Err(then) => break then,
            };
            self.put_data(slot, part.bytes.start, from);
            place += part.bytes.len() as u64;
        };
        let bytes = (place - at) as usize;
        if bytes > 0 {
            self.changed(author, bytes);
        }
        Ok((bytes, Step { then, jobs }))
    }

    /// Whether the server may still lose changes of another user, or of another open when either open holds locks.
    fn is_changed_by_another(&self, Author { file, io, .. }: Author<'_>) -> bool {
        let state = self.file_ref(file);
        let (Some(io), Some(earlier)) = (io, &state.late.io) else { return false };
        if state.dirty.is_empty() || std::ptr::addr_eq(Arc::as_ptr(io), Arc::as_ptr(earlier)) {
            return false;
        }
        io.user() != earlier.user() || io.has_locks() || earlier.has_locks()
    }

    /// The block that can take a part now, or what has to happen first.
    fn room_for(
        &mut self,
        author: Author<'_>,
        progress: &mut Progress,
        part: &Part,
        jobs: &mut Vec<Job>,
    ) -> std::result::Result<BlockId, Then> {
        let (file, index) = (author.file, part.index);
        let found = self.find(file, index);
        let is_dirty = found.is_some_and(|slot| self.block_ref(slot).is_dirty());
        if !is_dirty && self.dirty_blocks >= self.config.max_dirty_blocks {
            self.unpin_all(progress);
            self.want_room();
            return Err(Then::Room);
        }
        let Some(slot) = found.or_else(|| self.new_block(file, index)) else {
            self.unpin_all(progress);
            self.want_room();
            return Err(Then::Room);
        };
        if self.has_too_many_parts(file, slot, &part.bytes) {
            return self.make_whole(author, progress, slot, jobs);
        }
        // What joins changes that are not sent yet makes no further WRITE.
        progress.count(index, self.block_ref(slot).unsent.ranges.touches(&part.bytes));
        if progress.pins.front().is_some_and(|pin| *pin == (index, slot)) {
            progress.pins.pop_front();
            self.block(slot).pins -= 1;
        }
        Ok(slot)
    }

    /// Whether the block can track no further part. Bytes that the server does not have are known to be zeros.
    fn has_too_many_parts(&mut self, file: FileId, slot: BlockId, part: &Range<u32>) -> bool {
        let (empty_from, block_bytes) = (self.empty_from(file), self.config.block_bytes());
        let start = self.config.start(self.block_ref(slot).index);
        let block = self.block(slot);
        if start >= empty_from
            && block.fill.is_none()
            && !block.has_hidden_parts()
            && part.len() < block_bytes as usize
            && !block.known.contains(part)
        {
            block.install(Bytes::new(), block_bytes);
        }
        block.known.count() >= MAX_PARTS && !block.known.touches(part)
    }

    /// Reads the rest of a block before it is written. An open that cannot read has the block written back first.
    fn make_whole(
        &mut self,
        Author { file, can_read, .. }: Author<'_>,
        progress: &mut Progress,
        slot: BlockId,
        jobs: &mut Vec<Job>,
    ) -> std::result::Result<BlockId, Then> {
        if can_read {
            let (index, is_requested) = (self.block_ref(slot).index, self.block_ref(slot).fill.is_some());
            let then = self.want(file, progress, index..index + 1, jobs);
            progress.read_first += u64::from(!is_requested && self.block_ref(slot).fill.is_some());
            self.block(slot).is_unseen = false;
            return Err(then);
        }
        if self.block_ref(slot).is_dirty() {
            self.want_written(file, true);
            return Err(Then::Written);
        }
        self.block(slot).known.clear();
        Ok(slot)
    }

    fn put_data(&mut self, slot: BlockId, at: u32, data: &[u8]) {
        self.newest_change += 1;
        let (block_bytes, since) = (self.config.block_bytes(), self.newest_change);
        let Block { file, index, .. } = *self.block_ref(slot);
        let end = self.config.start(index) + u64::from(at) + data.len() as u64;
        self.block(slot).write(at, data, block_bytes, since);
        self.note_changes(slot);
        let state = self.file(file);
        state.size_bytes = state.size_bytes.max(end);
        state.late.newest_block = index;
    }

    /// Schedules the write-back of changes.
    fn changed(&mut self, Author { file, io, now, .. }: Author<'_>, bytes: usize) {
        let (is_pressed, most) = (self.is_pressed(), u64::from(self.config.write_bytes));
        let late = &mut self.file(file).late;
        if late.io.as_ref().map(|io| Arc::as_ptr(io).cast::<()>()) != io.map(|io| Arc::as_ptr(io).cast()) {
            late.io = io.cloned();
        }
        late.deadline.get_or_insert(now + WRITE_DELAY);
        late.gathered_bytes += bytes as u64;
        if is_pressed || late.gathered_bytes >= most {
            late.wake.notify_one();
        }
    }

    /// Follows a truncation or extension that the server has carried out.
    pub(super) fn set_size(&mut self, file: FileId, size: u64) {
        let state = self.file(file);
        state.changes += 1;
        state.is_explained = true;
        state.server_size_bytes = size;
        let (last, within) =
            (size >> self.config.block_shift, (size & u64::from(self.config.block_bytes() - 1)) as u32);
        let first_gone = self.config.blocks_to(size);
        let behind: Vec<(u64, BlockId)> =
            self.file(file).blocks.range(last..).map(|(index, slot)| (*index, *slot)).collect();
        for (index, slot) in behind {
            if index >= first_gone {
                self.block(slot).give_up();
                self.note_changes(slot);
                if self.is_at(slot, file, index) {
                    self.detach(index, slot);
                }
            } else {
                let block_bytes = self.config.block_bytes();
                self.block(slot).cut(within, block_bytes);
                self.note_changes(slot);
            }
        }
        self.measure(file);
    }
}
