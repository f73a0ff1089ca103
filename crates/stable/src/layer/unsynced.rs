//! Tracks which data of files are neither in storage nor in the log, and of which files the log has data or attributes.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use vfs::Handle;

use crate::log::Position;

/// COMMIT logs at most this many bytes of a file, and flushes more to storage.
const MAX_LOGGED_BYTES: u64 = 128 << 10;

/// The maximum number of separate ranges per file.
const MAX_RANGES: usize = 16;

/// The files of one export.
#[derive(Default)]
pub(crate) struct Unsynced(Mutex<FileStates>);

#[derive(Default)]
struct FileStates {
    current: HashMap<Handle, FileState>,
    /// Files that a flush of the whole file system is writing now.
    flushing: HashMap<Handle, FileState>,
    /// How many flushes of the whole file system have begun.
    flushes: FlushCount,
}

/// A number of flushes of the whole file system that have begun.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlushCount(u64);

#[derive(Default, Clone)]
struct FileState {
    dirty: Dirty,
    /// Whether another user than root wrote what is dirty.
    is_by_others: bool,
    /// The end of the last record with data or attributes of this file.
    logged: Option<Position>,
    /// Whether attributes in the log have set-id bits.
    has_set_id: bool,
    /// Whether a flush of the file system wrote data that are newer than some of the log's. A replay before the next
    /// trim would write the older ones over them, so COMMIT must record that they are in storage.
    is_newer_than_log: bool,
}

/// What [`Unsynced::take`] takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) dirty: Dirty,
    /// Whether nobody but root wrote it, which keeps set-id bits.
    pub(crate) by_root: bool,
}

/// Bytes of a file that a power failure may lose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Dirty {
    /// Those in these ranges.
    Ranges(Vec<Range<u64>>),
    /// Too much to log.
    Much,
}

impl Default for Dirty {
    fn default() -> Self {
        Dirty::Ranges(Vec::new())
    }
}

impl Unsynced {
    /// Bytes were written unstably.
    pub(crate) fn wrote(&self, file: &Handle, range_bytes: Range<u64>, by_root: bool) {
        let files = &mut *self.lock();
        let state = files.current.entry(*file).or_default();
        state.dirty.add(range_bytes);
        state.is_by_others |= !by_root;
    }

    /// Bytes were changed without being logged.
    pub(crate) fn changed(&self, file: &Handle) {
        self.lock().current.entry(*file).or_default().dirty = Dirty::Much;
    }

    /// How many flushes of the whole file system have begun.
    pub(crate) fn flushes(&self) -> FlushCount {
        self.lock().flushes
    }

    /// Data or attributes of the file were logged; `flushes` was counted before they were read or written. A flush that
    /// began since may have brought newer ones of other callers to storage.
    pub(crate) fn logged(&self, file: &Handle, end: Position, flushes: FlushCount) {
        let files = &mut *self.lock();
        let state = files.current.entry(*file).or_default();
        state.logged = Some(end);
        state.is_newer_than_log |= files.flushes != flushes;
    }

    /// Attributes in the log have set-id bits, or no longer have them.
    pub(crate) fn set_id(&self, file: &Handle, has_set_id: bool) {
        let files = &mut *self.lock();
        if let Some(state) = files.current.get_mut(file) {
            state.has_set_id = has_set_id;
        }
        if let Some(state) = files.flushing.get_mut(file) {
            state.has_set_id = has_set_id;
        }
    }

    /// Whether attributes in the log have set-id bits.
    pub(crate) fn has_set_id(&self, file: &Handle) -> bool {
        let files = self.lock();
        [&files.current, &files.flushing].iter().any(|of| of.get(file).is_some_and(|state| state.has_set_id))
    }

    /// Takes the dirty ranges of a file. The caller logs or flushes them, or puts them back.
    pub(crate) fn take(&self, file: &Handle) -> Taken {
        let mut files = self.lock();
        let is_flushing = files.flushing.get(file).is_some_and(FileState::needs_commit);
        let Some(state) = files.current.get_mut(file) else {
            let dirty = if is_flushing { Dirty::Much } else { Dirty::default() };
            return Taken { dirty, by_root: true };
        };
        let dirty = std::mem::take(&mut state.dirty);
        let by_root = !std::mem::take(&mut state.is_by_others);
        let is_newer = std::mem::take(&mut state.is_newer_than_log);
        Taken { dirty: if is_flushing || is_newer { Dirty::Much } else { dirty }, by_root }
    }

    /// Puts back ranges that were neither logged nor flushed.
    pub(crate) fn put_back(&self, file: &Handle) {
        self.changed(file);
    }

    /// The end of the last record with data or attributes of the file, if the log has any.
    pub(crate) fn logged_end(&self, file: &Handle) -> Option<Position> {
        let files = self.lock();
        let end = |of: &HashMap<Handle, FileState>| of.get(file).and_then(|state| state.logged);
        end(&files.current).max(end(&files.flushing))
    }

    /// How many files are known.
    pub(crate) fn len(&self) -> usize {
        self.lock().current.len()
    }

    /// A flush of the whole file system begins.
    pub(crate) fn begin_flush(&self) {
        let files = &mut *self.lock();
        files.flushing = std::mem::take(&mut files.current);
        files.flushes.0 += 1;
    }

    /// The flush has ended.
    pub(crate) fn end_flush(&self, is_synced: bool) {
        let files = &mut *self.lock();
        for (file, before) in std::mem::take(&mut files.flushing) {
            let state = files.current.entry(file).or_default();
            state.logged = state.logged.max(before.logged);
            state.has_set_id |= before.has_set_id;
            if before.dirty != Dirty::default() && !is_synced {
                state.dirty = Dirty::Much;
            }
            state.is_newer_than_log |= state.logged.is_some() && before.needs_commit();
            if !state.is_known() {
                files.current.remove(&file);
            }
        }
    }

    /// Records before `end` will not be read again, even after a crash.
    pub(crate) fn trimmed(&self, end: Position) {
        self.lock().current.retain(|_, state| {
            state.logged = state.logged.filter(|logged| *logged > end);
            state.is_newer_than_log &= state.logged.is_some();
            state.has_set_id &= state.logged.is_some();
            state.is_known()
        });
    }

    fn lock(&self) -> MutexGuard<'_, FileStates> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileState {
    fn is_known(&self) -> bool {
        self.logged.is_some() || self.dirty != Dirty::default()
    }

    fn needs_commit(&self) -> bool {
        self.dirty != Dirty::default() || self.is_newer_than_log
    }
}

impl Dirty {
    fn add(&mut self, new: Range<u64>) {
        let Dirty::Ranges(ranges) = self else { return };
        match ranges.iter_mut().find(|known| known.start <= new.end && new.start <= known.end) {
            Some(known) => *known = known.start.min(new.start)..known.end.max(new.end),
            None => ranges.push(new),
        }
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        if bytes > MAX_LOGGED_BYTES || ranges.len() > MAX_RANGES {
            *self = Dirty::Much;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one_and_too_many_become_much() {
        let mut dirty = Dirty::default();
        dirty.add(0..10);
        dirty.add(10..20);
        dirty.add(100..110);
        assert_eq!(dirty, Dirty::Ranges(vec![0..20, 100..110]));
        dirty.add(0..MAX_LOGGED_BYTES + 1);
        assert_eq!(dirty, Dirty::Much);
    }

    #[test]
    fn file_that_is_being_flushed_is_dirty_until_the_flush_has_ended() {
        let (unsynced, file) = (Unsynced::default(), Handle::from_u64(1));
        unsynced.wrote(&file, 0..10, true);
        unsynced.begin_flush();
        assert_eq!(unsynced.take(&file).dirty, Dirty::Much);
        unsynced.end_flush(false);
        assert_eq!(unsynced.take(&file).dirty, Dirty::Much, "the flush has failed");
        unsynced.wrote(&file, 0..10, true);
        unsynced.begin_flush();
        unsynced.wrote(&file, 20..30, true);
        unsynced.end_flush(true);
        assert_eq!(unsynced.take(&file).dirty, Dirty::Ranges(vec![Range { start: 20, end: 30 }]));
    }

    #[test]
    fn flushed_file_needs_a_commit_until_older_data_of_it_are_trimmed() {
        let (unsynced, file) = (Unsynced::default(), Handle::from_u64(1));
        let flush = || {
            unsynced.logged(&file, Position::new(20), unsynced.flushes());
            unsynced.wrote(&file, 0..10, true);
            unsynced.begin_flush();
            unsynced.end_flush(true);
        };
        flush();
        unsynced.trimmed(Position::new(10));
        assert_eq!((unsynced.take(&file).dirty, unsynced.take(&file).dirty), (Dirty::Much, Dirty::default()));
        flush();
        unsynced.begin_flush();
        assert_eq!(unsynced.take(&file).dirty, Dirty::Much, "during the next flush");
        unsynced.end_flush(true);
        unsynced.trimmed(Position::new(20));
        assert_eq!((unsynced.take(&file).dirty, unsynced.len()), (Dirty::default(), 0));
    }

    #[test]
    fn file_needs_a_commit_when_data_from_before_a_flush_are_logged_after_it() {
        let (unsynced, file) = (Unsynced::default(), Handle::from_u64(1));
        let flushes = unsynced.flushes();
        unsynced.begin_flush();
        unsynced.end_flush(true);
        unsynced.logged(&file, Position::new(10), flushes);
        assert_eq!(unsynced.take(&file).dirty, Dirty::Much);
        unsynced.logged(&file, Position::new(20), unsynced.flushes());
        assert_eq!(unsynced.take(&file).dirty, Dirty::default());
    }
}
