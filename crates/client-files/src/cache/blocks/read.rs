//! Finding bytes, requesting those that are missing, and reading ahead.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use super::fill::Fill;
use super::ids::{BlockId, FileId, ReaderId};
use super::reader::Reader;
use super::reader_window::View;
use super::table::BlockTable;
use crate::Result;

/// The progress of one read or write.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The offsets at which it began and ends, unless the file ends before.
    pub(super) from_bytes: u64,
    pub(super) to_bytes: u64,
    /// Blocks that it waits for or waited for, in order.
    pub(super) pins: VecDeque<(u64, BlockId)>,
    /// Blocks before this one are counted.
    pub(super) counted_to_block: u64,
    pub(super) hits: u64,
    pub(super) misses: u64,
    /// How many blocks a write had read first.
    pub(super) read_first: u64,
}

impl Progress {
    /// Counts a hit or miss once per block.
    pub(super) fn count(&mut self, index: u64, is_hit: bool) {
        if index >= self.counted_to_block {
            self.counted_to_block = index + 1;
            *(if is_hit { &mut self.hits } else { &mut self.misses }) += 1;
        }
    }
}

/// What has to happen before a read or write can go on.
#[derive(Debug)]
pub(super) enum Then {
    /// It is over.
    Done,
    /// It goes on at once.
    More,
    /// These blocks are being fetched.
    Filled(Arc<Fill>),
    /// Memory becomes free.
    Room,
    /// Data of the file is written, or committed.
    Written,
}

/// How a read or write goes on.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) then: Then,
    /// READs for tasks to send.
    pub(super) jobs: Vec<Job>,
}

/// Adjacent blocks to fetch with one job.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) file: FileId,
    pub(super) fill: Arc<Fill>,
    first: u64,
    slots: Vec<BlockId>,
    block_bytes: u32,
    /// The range to read: nothing behind the end of the server's file.
    pub(super) offset_bytes: u64,
    pub(super) bytes: usize,
    /// [`super::table::FileState::changes`] when the job was made.
    changes: u64,
}

impl Job {
    /// Copies the data into separate memory for each block, so that the receive buffer is not kept.
    pub(super) fn brought(&self, bytes: &[u8]) -> Brought {
        let block_bytes = self.block_bytes as usize;
        Brought { bytes: bytes.len(), blocks: bytes.chunks(block_bytes).map(Bytes::copy_from_slice).collect() }
    }
}

/// The data that a job fetched, block by block; fewer bytes than requested where the file ends.
#[derive(Debug)]
pub(super) struct Brought {
    bytes: usize,
    blocks: Vec<Bytes>,
}

impl BlockTable {
    /// Finds the bytes that one block holds from `at` on, at most `count` of them, and requests what is missing. The
    /// caller copies them after releasing the lock.
    pub(super) fn read(&mut self, reader: ReaderId, progress: &mut Progress, at: u64, count: usize) -> (Bytes, Step) {
        let file = self.reader(reader).file;
        self.close_reader_window(file);
        let end = progress.to_bytes.min(self.file_ref(file).size_bytes);
        let to = at.saturating_add(count as u64).min(end);
        let (mut found, mut jobs) = (Bytes::new(), Vec::new());
        if at < to {
            let index = at >> self.config.block_shift;
            let part = self.config.part(index, at, to);
            match self.look(reader, progress, index, &part) {
                Some(bytes) => found = bytes,
                None => {
                    progress.count(index, false);
                    let then = self.want(file, progress, index..self.config.blocks_to(end), &mut jobs);
                    return (found, Step { then, jobs });
                }
            }
        }
        let place = at + found.len() as u64;
        if place < to {
            return (found, Step { then: Then::More, jobs });
        }
        if place >= end && !found.is_empty() {
            self.ahead(reader, progress.from_bytes, place, &mut jobs);
            self.look_on(reader, place - progress.from_bytes);
        }
        (found, Step { then: Then::Done, jobs })
    }

    /// Whether a read needs the server for these bytes: some are not cached, and none was changed here.
    pub(super) fn is_servers(&self, file: FileId, at: u64, end: u64) -> bool {
        let state = self.file_ref(file);
        let end = end.min(state.size_bytes);
        if at >= end || end > state.server_size_bytes {
            return false;
        }
        let mut indexes = at >> self.config.block_shift..self.config.blocks_to(end);
        state.dirty.range(indexes.clone()).next().is_none() && indexes.any(|index| self.find(file, index).is_none())
    }

    /// Opens the window of a sequential reader on the rest of its block, up to where more has to be requested.
    fn look_on(&mut self, reader: ReaderId, count: u64) {
        let Reader { file, next_bytes, asked_to_bytes, window_bytes, last: Some((index, slot)), .. } =
            self.readers[reader.index()]
        else {
            return;
        };
        let (state, is_here) = (self.file_ref(file), self.is_at(slot, file, index));
        let Some(until) = state.checked_until.filter(|_| state.passing == 0 && is_here) else { return };
        let most =
            if self.config.ahead_bytes > 0 { asked_to_bytes.saturating_sub(window_bytes / 2 + 1) } else { u64::MAX };
        let part = self.config.part(index, next_bytes, state.size_bytes.min(most));
        let block = self.block_ref(slot);
        if (part.len() as u64) < count || !block.known.contains(&part) {
            return;
        }
        let bytes = block.data.slice(part.start as usize..part.end as usize);
        self.open_reader_window(View { reader, next: next_bytes, bytes, until });
    }

    /// Finds bytes in the reader's last block if only copying is left to do, as for most small reads.
    pub(super) fn glance(
        &mut self,
        reader: ReaderId,
        now: impl FnOnce() -> Instant,
        at: u64,
        count: usize,
    ) -> Option<Bytes> {
        self.close_reader_window(self.readers[reader.index()].file);
        let Reader { file, next_bytes, asked_to_bytes, window_bytes, last: Some((index, slot)), .. } =
            self.readers[reader.index()]
        else {
            return None;
        };
        let end = at.checked_add(count as u64)?;
        if at >> self.config.block_shift != index || end > self.file_ref(file).size_bytes {
            return None;
        }
        let block = self.slots.get(slot.index())?;
        let part = self.config.part(index, at, end);
        let is_here = block.file == file && block.index == index && !block.is_detached && !block.is_unseen;
        if part.is_empty() || part.len() != count || !is_here || !block.known.contains(&part) {
            return None;
        }
        let is_sequential = next_bytes == at;
        let is_ahead_due = asked_to_bytes.saturating_sub(end) <= window_bytes / 2;
        let has_to_ask = is_sequential && self.config.ahead_bytes > 0 && is_ahead_due;
        // Reading the clock costs as much as all the rest.
        if has_to_ask || !self.is_checked(file, now()) {
            return None;
        }
        let found = block.data.slice(part.start as usize..part.end as usize);
        let reader = self.reader(reader);
        reader.next_bytes = end;
        if !is_sequential {
            (reader.window_bytes, reader.asked_to_bytes) = (0, 0);
        }
        Some(found)
    }

    fn reader(&mut self, reader: ReaderId) -> &mut Reader {
        &mut self.readers[reader.index()]
    }

    /// A part of a block, if it is cached.
    fn look(
        &mut self,
        reader: ReaderId,
        progress: &mut Progress,
        index: u64,
        part: &std::ops::Range<u32>,
    ) -> Option<Bytes> {
        let pinned = progress.pins.pop_front_if(|pin| pin.0 == index).map(|pin| pin.1);
        let (last, file) = (self.reader(reader).last, self.reader(reader).file);
        let found_last =
            last.filter(|(last, slot)| *last == index && self.is_at(*slot, file, index)).map(|last| last.1);
        let is_last = found_last.is_some();
        let slot = pinned.or(found_last.or_else(|| self.find(file, index)))?;
        let block = self.block(slot);
        let bytes = block.known.contains(part).then(|| block.data.slice(part.start as usize..part.end as usize));
        if bytes.is_some() {
            progress.count(index, !std::mem::take(&mut block.is_unseen));
        }
        if pinned.is_some() {
            self.unpin(slot);
        } else if bytes.is_some() && !is_last {
            self.touch(slot);
        }
        if bytes.is_some() {
            self.reader(reader).last = Some((index, slot));
            self.moved(reader, last, index);
        }
        bytes
    }

    /// Notes that a reader went on from block `left` to another one. When a file does not fit into memory, the start of
    /// a sequential run stays for a reader that begins again. The rest is dropped soon after it was read: as the newest
    /// data it would evict everything else, and be evicted before anybody came back to it.
    fn moved(&mut self, reader: ReaderId, left: Option<(u64, BlockId)>, index: u64) {
        let most = self.config.max_blocks as u64;
        let reader = self.reader(reader);
        let (file, came_from) = (reader.file, left.filter(|(left, _)| left.checked_add(1) == Some(index)));
        if came_from.is_none() && left.is_none_or(|(left, _)| left != index) {
            reader.began_block = index;
        }
        let is_long = index - reader.began_block > most / 2;
        if let Some((left, slot)) = came_from.filter(|_| is_long)
            && self.file_ref(file).size_bytes >> self.config.block_shift >= most
        {
            self.leave_behind(file, left, slot);
        }
    }

    fn leave_behind(&mut self, file: FileId, index: u64, slot: BlockId) {
        self.behind.push_back((file, index, slot));
        if self.behind.len() > self.config.max_behind_blocks
            && let Some((file, index, slot)) = self.behind.pop_front()
            && self.is_at(slot, file, index)
            && self.order.remove(&slot).is_some()
        {
            self.detach(index, slot);
        }
    }

    /// Pins the wanted blocks that are missing, and requests those that nobody requested yet.
    pub(super) fn want(
        &mut self,
        file: FileId,
        progress: &mut Progress,
        indexes: std::ops::Range<u64>,
        jobs: &mut Vec<Job>,
    ) -> Then {
        self.unpin_all(progress);
        if self.find(file, indexes.start).is_some_and(|slot| self.block_ref(slot).has_hidden_parts()) {
            self.want_written(file, true);
            return Then::Written;
        }
        let last = indexes.end.min(indexes.start + self.config.max_wanted_blocks);
        let mut first = None;
        for index in indexes.start..last {
            let Some(slot) = self.asked_for(file, index, jobs) else { break };
            let Some(slot) = slot else { continue };
            let block = self.block(slot);
            // The caller has just looked at the first one.
            block.is_unseen &= index != indexes.start;
            first = first.or_else(|| block.fill.clone());
            self.pin(slot);
            progress.pins.push_back((index, slot));
        }
        match first {
            Some(fill) => Then::Filled(fill),
            None if progress.pins.is_empty() && self.find(file, indexes.start).is_none() => {
                self.want_room();
                Then::Room
            }
            // It has just become known without a READ.
            None => Then::Filled(Arc::new(Fill::ended_already())),
        }
    }

    pub(super) fn unpin_all(&mut self, progress: &mut Progress) {
        while let Some((_, slot)) = progress.pins.pop_front() {
            self.unpin(slot);
        }
    }

    /// The block that is being fetched, or `Some(None)` where everything is known; requests it if nobody did. `None`
    /// without memory for it, or while a part has to be committed first.
    #[allow(clippy::option_option, reason = "the outer one ends the loop")]
    fn asked_for(&mut self, file: FileId, index: u64, jobs: &mut Vec<Job>) -> Option<Option<BlockId>> {
        let (start, block_bytes) = (self.config.start(index), self.config.block_bytes());
        let found = self.find(file, index);
        if let Some(slot) = found {
            let block = self.block(slot);
            if block.fill.is_some() {
                return Some(Some(slot));
            }
            if block.known.contains(&(0..block_bytes)) {
                return Some(None);
            }
            if block.has_hidden_parts() {
                return None;
            }
        }
        let slot = match found {
            Some(slot) => slot,
            None => self.new_block(file, index)?,
        };
        if start >= self.empty_from(file) {
            // The server has no bytes there, so unknown bytes are zeros.
            self.block(slot).install(Bytes::new(), block_bytes);
            self.settle(slot);
            return Some(None);
        }
        self.add_to_jobs(file, index, slot, jobs);
        Some(Some(slot))
    }

    /// Adds a block to the READ for the one before it if that has room, or to a new one.
    fn add_to_jobs(&mut self, file: FileId, index: u64, slot: BlockId, jobs: &mut Vec<Job>) {
        let changes = self.file_ref(file).changes;
        let end = self.config.start(index + 1).min(self.empty_from(file));
        let is_next = |job: &&mut Job| job.file == file && job.first + job.slots.len() as u64 == index;
        let most = self.config.read_blocks;
        let has_room = |job: &&mut Job| (job.slots.len() as u64) < most;
        let fill = match jobs.last_mut().filter(is_next).filter(has_room) {
            Some(job) => {
                job.slots.push(slot);
                job.bytes = (end - job.offset_bytes) as usize;
                Arc::clone(&job.fill)
            }
            None => {
                let (offset_bytes, fill) = (self.config.start(index), Arc::new(Fill::default()));
                let bytes = (end - offset_bytes) as usize;
                jobs.push(Job {
                    file,
                    fill: Arc::clone(&fill),
                    first: index,
                    slots: vec![slot],
                    block_bytes: self.config.block_bytes(),
                    offset_bytes,
                    bytes,
                    changes,
                });
                self.file(file).tasks += 1;
                fill
            }
        };
        let block = self.block(slot);
        (block.fill, block.fill_limit, block.is_outdated, block.is_unseen) = (Some(fill), u32::MAX, false, true);
        // A partly known block may have been evictable.
        self.order.remove(&slot);
    }

    /// Reads ahead of a sequential reader.
    fn ahead(&mut self, reader: ReaderId, at: u64, end: u64, jobs: &mut Vec<Job>) {
        let (most, shift) = (self.config.ahead_bytes, self.config.block_shift);
        let step = self.config.read_blocks << shift;
        let file = self.reader(reader).file;
        // Data read during a change past the cache is not kept.
        let is_passed = self.file_ref(file).passing > 0;
        let state = self.reader(reader);
        let is_sequential = state.next_bytes == at;
        state.next_bytes = end;
        if !is_sequential || is_passed {
            (state.window_bytes, state.asked_to_bytes) = (0, 0);
            return;
        }
        state.asked_to_bytes = state.asked_to_bytes.max(end);
        if state.asked_to_bytes - end > state.window_bytes / 2 || most == 0 {
            return;
        }
        state.window_bytes = (state.window_bytes * 2).max(step).min(most);
        let to = (end + state.window_bytes).next_multiple_of(step);
        let asked = std::mem::replace(&mut state.asked_to_bytes, to);
        let indexes = self.config.blocks_to(asked)..to >> shift;
        let last = self.config.blocks_to(self.file_ref(file).server_size_bytes);
        for index in indexes.start..indexes.end.min(last) {
            if self.asked_for(file, index, jobs).is_none() {
                break;
            }
        }
    }

    /// Takes in the data of a job, or its error.
    pub(super) fn end_job(&mut self, job: &Job, result: Result<Brought>) {
        let block_bytes = self.config.block_bytes();
        let is_passed = self.file_ref(job.file).passing > 0;
        for (number, slot) in job.slots.iter().enumerate() {
            let block = self.block(*slot);
            block.fill = None;
            if let (Ok(brought), false) = (&result, block.is_outdated) {
                block.install(brought.blocks.get(number).cloned().unwrap_or_default(), block_bytes);
            }
            // The file may have changed by now, so only those that already wait get the data.
            let is_let_go = is_passed && !block.is_dirty() && !block.is_detached;
            match is_let_go {
                true => self.detach(job.first + number as u64, *slot),
                false => self.settle(*slot),
            }
        }
        let state = self.file(job.file);
        state.tasks -= 1;
        if let Ok(brought) = &result
            && brought.bytes < job.bytes
            && state.changes == job.changes
        {
            // Somebody truncated the file meanwhile.
            state.server_size_bytes = state.server_size_bytes.min(job.offset_bytes + brought.bytes as u64);
            state.checked_until = None;
            self.measure(job.file);
        }
        job.fill.end(result.err());
        self.forget_unused(job.file);
    }
}
