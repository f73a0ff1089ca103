//! Chooses what of a file to write next, and handles the outcome.

use std::ops::Range;

use bytes::BytesMut;
use client_calls::FileChange;
use tokio::time::Instant;
use vfs::Stability;

use super::batch::{Batch, Piece};
use super::block::Block;
use super::ids::{BlockId, FileId};
use super::series::Series;
use super::table::{BlockTable, FileState};
use crate::{Error, Result, WriteVerifier, Written};

/// How often in a row a server may lose unstable data before WRITEs go to stable storage at once.
const MAX_LOSSES: u32 = 4;
/// The most WRITEs of one file in flight.
const MAX_WRITES: u32 = 16;

/// The next action of a task that writes a file.
#[derive(Debug)]
pub(super) enum Action {
    /// Send this.
    Write(Batch),
    /// Commit what was sent.
    Commit,
    /// Wait to be woken, at most until then.
    Wait(Option<Instant>),
    /// End: nothing is dirty.
    End,
}

impl BlockTable {
    pub(super) fn next_action(&mut self, file: FileId, now: Instant) -> Action {
        let late = &self.file_ref(file).late;
        if self.holds > 0 || late.holds > 0 || late.writes >= MAX_WRITES {
            return Action::Wait(None);
        }
        if late.deadline.is_some_and(|deadline| deadline <= now) {
            self.want_written(file, true);
        }
        if let Some(pieces) = self.pick(file, self.choice(file)) {
            return Action::Write(self.batch(file, pieces));
        }
        self.file(file).late.gathered_bytes = 0;
        self.commit_or_wait(file)
    }

    fn commit_or_wait(&mut self, file: FileId) -> Action {
        let FileState { ages, late, .. } = self.file_ref(file);
        let oldest_unstable = ages.oldest_unstable();
        let is_wanted = oldest_unstable <= late.commit_to && ages.oldest_unwritten() > late.commit_to;
        if oldest_unstable != u64::MAX && !late.is_committing && (is_wanted || self.is_pressed()) {
            self.begin_commit(file);
            return Action::Commit;
        }
        let state = self.file(file);
        if !state.dirty.is_empty() || state.late.writes > 0 || state.late.is_committing {
            return Action::Wait(state.late.deadline);
        }
        (state.late.deadline, state.late.io, state.late.has_task) = (None, None, false);
        self.forget_unused(file);
        Action::End
    }

    /// Has everything dirty now written, and committed if asked, without further delay. Returns the newest change's
    /// number.
    pub(super) fn want_written(&mut self, file: FileId, is_committed: bool) -> u64 {
        let newest = self.newest_change;
        let late = &mut self.file(file).late;
        late.flush_to = newest;
        if is_committed {
            (late.commit_to, late.deadline) = (newest, None);
        }
        late.wake.notify_one();
        newest
    }

    /// Changes all dirty blocks of a file.
    fn change_dirty(&mut self, file: FileId, change: impl Fn(&mut Block)) {
        let state = self.file_ref(file);
        let dirty: Vec<BlockId> = state.dirty.iter().filter_map(|index| state.blocks.get(index).copied()).collect();
        for slot in dirty {
            change(self.block(slot));
            self.note_changes(slot);
        }
    }

    /// Which changes may be sent now.
    fn choice(&self, file: FileId) -> Choice {
        let FileState { ages, late, .. } = self.file_ref(file);
        if ages.oldest_unwritten() <= late.flush_to.max(late.commit_to) {
            return Choice { least_bytes: 1, is_aligned: false, spared: None };
        }
        if !self.is_pressed() {
            return Choice { least_bytes: self.config.write_bytes, is_aligned: true, spared: None };
        }
        // A program that writes in order is likely to fill the block that it changed last.
        let newest = late.newest_block;
        let has_others = late.is_under_way() || ages.oldest_unstable() != u64::MAX || ages.has_unsent_besides(newest);
        Choice { least_bytes: 1, is_aligned: true, spared: has_others.then_some(newest) }
    }

    /// The first adjacent changes to be sent, searched from the cursor on, then from the start.
    fn pick(&mut self, file: FileId, choice: Choice) -> Option<Vec<Piece>> {
        let cursor = self.file_ref(file).late.cursor;
        let found = self.pick_in(file, cursor..u64::MAX, choice).or_else(|| self.pick_in(file, 0..cursor, choice));
        if let Some(last) = found.as_ref().and_then(|pieces| pieces.last()) {
            let cursor = last.index;
            self.file(file).late.cursor = cursor;
        }
        found
    }

    fn pick_in(&self, file: FileId, indexes: Range<u64>, choice: Choice) -> Option<Vec<Piece>> {
        let state = self.file_ref(file);
        let mut run = Run::new(self.config.write_bytes, choice.is_aligned);
        for index in state.ages.unsent(indexes).filter(|index| Some(*index) != choice.spared) {
            let Some(slot) = state.blocks.get(&index).copied() else { continue };
            let block = self.block_ref(slot);
            if !block.writing.is_empty() {
                continue;
            }
            for part in block.unsent.ranges.iter() {
                let mut left = part.clone();
                while !left.is_empty() {
                    let start = self.config.start(index) + u64::from(left.start);
                    if !run.goes_on_at(start) && run.bytes >= choice.least_bytes {
                        return Some(run.pieces);
                    }
                    left.start += run.add(start, Piece { slot, index, part: left.clone() });
                    if run.room == 0 && run.bytes >= choice.least_bytes {
                        return Some(run.pieces);
                    }
                }
            }
        }
        (run.bytes >= choice.least_bytes).then_some(run.pieces)
    }

    fn batch(&mut self, file: FileId, pieces: Vec<Piece>) -> Batch {
        let bytes = pieces.iter().map(|piece| piece.part.len()).sum();
        let mut data = BytesMut::with_capacity(bytes);
        for Piece { slot, part, .. } in &pieces {
            let block = self.block(*slot);
            block.begin_write(part);
            data.extend_from_slice(&block.data[part.start as usize..part.end as usize]);
            self.note_changes(*slot);
        }
        let offset_bytes =
            pieces.first().map_or(0, |piece| self.config.start(piece.index) + u64::from(piece.part.start));
        let stability = self.stability(file);
        self.begin_write(file);
        let late = &mut self.file(file).late;
        late.gathered_bytes = late.gathered_bytes.saturating_sub(bytes as u64);
        Batch { pieces, offset_bytes, data: data.freeze(), stability }
    }

    /// A single WRITE that is to be committed anyway is sent stable and needs no COMMIT. A server that keeps losing
    /// unstable data gets only stable WRITEs.
    fn stability(&self, file: FileId) -> Stability {
        let FileState { ages, late, .. } = self.file_ref(file);
        let is_alone = late.writes == 0 && ages.are_all_writing();
        let is_wanted = ages.oldest_unwritten() <= late.commit_to;
        match (is_alone && is_wanted) || late.losses >= MAX_LOSSES {
            true => Stability::File,
            false => Stability::Unstable,
        }
    }

    /// Takes in the outcome of a WRITE.
    pub(super) fn end_write(&mut self, file: FileId, batch: &Batch, result: Result<(Written, FileChange)>) {
        let late = &mut self.file(file).late;
        late.writes -= 1;
        let told = result.as_ref().map_or_else(|_| FileChange::default(), |(_, told)| *told);
        late.series.iter_mut().for_each(|series| series.add(&told));
        match result {
            Ok((written, _)) => self.written(file, batch, written),
            Err(error) => self.refused(file, batch, error),
        }
        self.end_series(file);
        self.tell_progress(file);
    }

    /// Counts a WRITE that is sent now.
    fn begin_write(&mut self, file: FileId) {
        let state = self.file(file);
        state.late.writes += 1;
        let base = state.version.filter(|_| !state.is_explained);
        state.late.series.get_or_insert_with(|| Series::new(base));
    }

    /// Compares what all WRITEs in flight together told about the file, when the last of them has ended.
    fn end_series(&mut self, file: FileId) {
        let state = self.file(file);
        let Some(series) = state.late.series.take_if(|_| state.late.writes == 0) else { return };
        let mut is_other = series.found_another() || state.is_promise_broken();
        match series.end() {
            // A late reply may show a shorter file than the newest one did. If somebody truncated it, its attributes
            // will tell.
            Some(now) if now.size_bytes >= state.server_size_bytes => {
                is_other |= now.size_bytes > state.server_size_bytes;
                (state.version, state.is_explained, state.promise) = (Some(now), false, None);
                state.server_size_bytes = now.size_bytes;
            }
            Some(_) => state.checked_until = None,
            None => {}
        }
        if is_other {
            self.forget_clean(file);
        }
        self.measure(file);
    }

    fn written(&mut self, file: FileId, batch: &Batch, written: Written) {
        let is_stable = written.stability != Stability::Unstable;
        if !is_stable {
            self.compare_verifier(file, written.verifier);
        }
        let mut left = written.count;
        for piece in &batch.pieces {
            let done = left.min(piece.part.len() as u32);
            left -= done;
            let (done, rest) = (piece.part.start..piece.part.start + done, piece.part.start + done..piece.part.end);
            self.end_piece(file, piece, |block| {
                if !done.is_empty() {
                    block.written(&done, is_stable);
                }
                if !rest.is_empty() {
                    block.not_written(&rest);
                }
            });
        }
        let state = self.file(file);
        state.changes += 1;
        state.is_explained = true;
        state.server_size_bytes = state.server_size_bytes.max(batch.offset_bytes + u64::from(written.count));
    }

    fn refused(&mut self, file: FileId, batch: &Batch, error: Error) {
        for piece in &batch.pieces {
            self.end_piece(file, piece, |block| block.refused(&piece.part));
        }
        self.note_error(file, error);
    }

    fn end_piece(&mut self, file: FileId, piece: &Piece, end: impl FnOnce(&mut Block)) {
        // The change may have been dropped meanwhile.
        if self.is_at(piece.slot, file, piece.index) && self.block(piece.slot).writing.ranges.contains(&piece.part) {
            end(self.block(piece.slot));
            self.note_changes(piece.slot);
        }
    }

    /// Keeps an error for the writer, and has the file's attributes checked again.
    fn note_error(&mut self, file: FileId, error: Error) {
        let state = self.file(file);
        if state.opens == 0 {
            tracing::warn!(%error, file = ?state.handle, "what was written to a file that is not open any more is lost");
        }
        state.late.fail(error);
        state.checked_until = None;
        self.measure(file);
    }

    /// A verifier other than before means that the server may have lost unstable data (RFC 1813 §3.3.7).
    fn compare_verifier(&mut self, file: FileId, verifier: WriteVerifier) {
        let late = &mut self.file(file).late;
        if late.verifier.replace(verifier).is_some_and(|before| before != verifier) {
            self.lose(file, Block::lost);
        }
    }

    /// Has data that the server lost sent again.
    fn lose(&mut self, file: FileId, lose: impl Fn(&mut Block)) {
        self.change_dirty(file, lose);
        self.file(file).late.losses += 1;
        self.want_written(file, false);
    }

    fn begin_commit(&mut self, file: FileId) {
        self.change_dirty(file, Block::begin_commit);
        let late = &mut self.file(file).late;
        (late.is_committing, late.committing) = (true, late.verifier);
    }

    /// Takes in the outcome of a COMMIT.
    pub(super) fn end_commit(&mut self, file: FileId, result: Result<WriteVerifier>) {
        let late = &mut self.file(file).late;
        late.is_committing = false;
        let is_same = result.as_ref().ok() == late.committing.as_ref();
        match result {
            Ok(_) if is_same => {
                late.losses = 0;
                self.end_committing(file, Block::committed);
            }
            Ok(_) => self.lose(file, Block::not_committed),
            Err(error) => {
                self.end_committing(file, |block| {
                    block.committed();
                    block.forget_clean();
                });
                self.note_error(file, error);
            }
        }
        self.measure(file);
        self.tell_progress(file);
    }

    fn end_committing(&mut self, file: FileId, end: impl Fn(&mut Block)) {
        self.change_dirty(file, |block| {
            if !block.committing.is_empty() {
                end(block);
            }
        });
    }

    /// Drops everything that was not written.
    pub(super) fn abandon(&mut self, file: FileId, error: Error) {
        self.change_dirty(file, Block::give_up);
        self.note_error(file, error);
        self.tell_progress(file);
    }

    fn tell_progress(&mut self, file: FileId) {
        let late = &self.file(file).late;
        late.progress.notify_waiters();
        late.wake.notify_one();
    }

    /// A file with changes up to number `to` that are not on the server's stable storage.
    pub(super) fn first_unwritten(&self, to: u64) -> Option<FileId> {
        self.dirty_files().find(|file| !self.is_written(*file, to, true))
    }

    /// Whether all changes up to number `to` are at the server, or on its stable storage if `is_committed`.
    pub(super) fn is_written(&self, file: FileId, to: u64, is_committed: bool) -> bool {
        let ages = &self.file_ref(file).ages;
        let oldest = if is_committed { ages.oldest_dirty() } else { ages.oldest_unwritten() };
        oldest > to
    }
}

/// Which changes of a file may be sent.
#[derive(Debug, Clone, Copy)]
struct Choice {
    /// Adjacent changes of fewer bytes wait.
    least_bytes: u32,
    /// Whether a WRITE ends at a multiple of its maximum size, so that the next ones carry whole blocks.
    is_aligned: bool,
    /// A block that waits.
    spared: Option<u64>,
}

/// Adjacent pieces gathered for one WRITE.
struct Run {
    pieces: Vec<Piece>,
    bytes: u32,
    /// Where the next piece would begin.
    next: u64,
    /// How many more bytes it takes.
    room: u32,
    write_bytes: u32,
    is_aligned: bool,
}

impl Run {
    fn new(write_bytes: u32, is_aligned: bool) -> Run {
        Run { pieces: Vec::new(), bytes: 0, next: u64::MAX, room: 0, write_bytes, is_aligned }
    }

    /// Whether it takes a piece that begins there.
    fn goes_on_at(&self, start: u64) -> bool {
        self.next == start && self.room > 0
    }

    /// Adds as much of a piece as there is room for, and returns how many bytes that are. A piece that it does not take
    /// starts a new run.
    fn add(&mut self, start: u64, mut piece: Piece) -> u32 {
        if !self.goes_on_at(start) {
            self.pieces.clear();
            let begun = if self.is_aligned { start % u64::from(self.write_bytes) } else { 0 };
            (self.bytes, self.room) = (0, self.write_bytes - begun as u32);
        }
        let length = (piece.part.len() as u32).min(self.room);
        piece.part.end = piece.part.start + length;
        self.bytes += length;
        self.room -= length;
        self.next = start + u64::from(length);
        self.pieces.push(piece);
        length
    }
}
