//! Group commit. A thread that finds no write in progress writes the current batch, and the others wait for it. When a
//! write ends, the threads of its batch return, and one thread of the next batch wakes up to write that.

use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Instant;

use super::state::LogState;
use super::{Log, LogError, Position};

impl Log {
    /// Waits until all records in front of `position` are durable. That takes at most two writes: the current one and
    /// the next.
    ///
    /// # Errors
    /// When a write failed before these records were durable; they may be lost or not. Also when there is no such
    /// position yet.
    pub fn wait(&self, position: Position) -> Result<(), LogError> {
        let mut state = self.state();
        loop {
            if position.bytes() <= state.kept().end() {
                return Ok(());
            }
            state.check()?;
            if position.bytes() > state.end() {
                let end = Position::new(state.end());
                return Err(LogError::NoSuchPosition { path: self.ring.path(), position, end });
            }
            if !state.is_writing() {
                // All records that are not durable are in this batch.
                return self.write_batch(state);
            }
            let batch = state.batch_of(position.bytes());
            state = self.written(batch).wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes the current batch. No other one is being written.
    pub(super) fn write_batch(&self, mut state: MutexGuard<'_, LogState>) -> Result<(), LogError> {
        let Some(mut batch) = state.take() else { return Ok(()) };
        if state.has_queue() {
            self.room.notify_all();
        }
        drop(state);
        let (number, position) = (batch.number, batch.position);
        let began = Instant::now();
        let written = self.ring.write(position, batch.gathering.seal(&self.id, number, position));
        self.pace.note(began.elapsed());
        let mut state = self.state();
        state.finish(batch, written.clone());
        let has_queue = state.has_queue();
        // Woken threads require the state at once.
        drop(state);
        self.wake(number, has_queue, written.is_err());
        written
    }

    /// Wakes one thread to write the next batch, and all that wait for the completed one.
    fn wake(&self, number: u64, has_queue: bool, has_failed: bool) {
        if has_failed {
            return self.wake_all();
        }
        self.written(number + 1).notify_one();
        self.written(number).notify_all();
        if has_queue {
            self.room.notify_all();
        }
    }

    /// Wakes everybody after a failure.
    pub(super) fn wake_all(&self) {
        self.written.iter().for_each(Condvar::notify_all);
        self.room.notify_all();
    }

    fn written(&self, batch: u64) -> &Condvar {
        &self.written[(batch % 2) as usize]
    }
}
