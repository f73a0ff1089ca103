use std::sync::{MutexGuard, PoisonError};

use super::state::{LogState, Room};
use super::{Log, LogError, Position};

/// A record whose change is in progress. Drop it when the change is made, or has failed.
pub(crate) struct Ahead<'l> {
    log: &'l Log,
    begin: u64,
    end: Position,
}

impl Ahead<'_> {
    /// The position behind the record.
    pub(crate) fn end(&self) -> Position {
        self.end
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        self.log.state().unpin(self.begin);
    }
}

impl Log {
    /// Adds a record with the bytes of all `parts` to the next batch, and returns the position behind it. The record is
    /// durable when [`wait`](Log::wait) has returned for this position.
    ///
    /// While the log is full, this waits for a [trim](Log::trim). A limited number of other appends that find room
    /// may overtake it.
    ///
    /// # Errors
    /// When the record is larger than [`max_record_bytes`](Log::max_record_bytes), when the log has failed, and when it
    /// is full and trims have ended.
    pub fn append(&self, parts: &[&[u8]]) -> Result<Position, LogError> {
        self.append_or(parts, || ())
    }

    /// Appends as [`append`](Log::append), and calls `ask_for_trim` before it waits for one.
    pub(crate) fn append_or(&self, parts: &[&[u8]], ask_for_trim: impl Fn()) -> Result<Position, LogError> {
        let bytes = parts.iter().map(|part| part.len()).sum();
        let mut state = self.make_room(bytes, ask_for_trim)?;
        Ok(Position::new(state.put(parts, bytes)))
    }

    /// Adds the record of a change that is not made yet to the next batch. [`made_end`](Log::made_end) stays in front
    /// of the record until the [`Ahead`] is dropped.
    ///
    /// # Errors
    /// As [`append`](Log::append).
    pub(crate) fn append_ahead(&self, parts: &[&[u8]], ask_for_trim: impl Fn()) -> Result<Ahead<'_>, LogError> {
        let bytes = parts.iter().map(|part| part.len()).sum();
        let mut state = self.make_room(bytes, ask_for_trim)?;
        let begin = state.end();
        // Atomic with the record: a trim sees both or neither.
        state.pin(begin);
        Ok(Ahead { log: self, begin, end: Position::new(state.put(parts, bytes)) })
    }

    fn check_record(&self, bytes: usize) -> Result<(), LogError> {
        let max_bytes = self.max_record_bytes();
        if bytes > max_bytes {
            return Err(LogError::RecordTooLarge { path: self.ring.path(), bytes, max_bytes });
        }
        Ok(())
    }

    /// Waits for room, and returns the locked state.
    fn make_room(&self, bytes: usize, ask_for_trim: impl Fn()) -> Result<MutexGuard<'_, LogState>, LogError> {
        self.check_record(bytes)?;
        let mut state = self.state();
        let mut number = None;
        let mut is_counted = false;
        loop {
            state.check()?;
            let room = state.room(bytes, self.ring.bytes());
            if room == Room::Free && state.queue().may_go(number) {
                if state.queue().went(number) {
                    self.room.notify_all();
                }
                return Ok(state);
            }
            if room != Room::BatchFull && state.is_never_trimmed() {
                return Err(LogError::Full { path: self.ring.path() });
            }
            if room == Room::LogFull && !is_counted {
                state.count_stall();
                is_counted = true;
                ask_for_trim();
            }
            number.get_or_insert_with(|| state.queue().push());
            // The current batch must become durable even if nobody waits for it: a trim may require it.
            state = if room != Room::Free && !state.is_writing() && !state.is_empty() {
                self.write_batch(state)?;
                self.state()
            } else {
                self.room.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}
