//! Group commit. A thread that finds no write in progress writes the current batch, and the others wait for it. When a
//! write ends, the threads of its batch return, and one thread of the next batch wakes up to write that.

use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Instant;

use super::state::LogState;
use super::{Log, LogError, Position};

/// Who waits when a write ends. Waking nobody would be a system call too.
struct Wakes {
    next_writer: bool,
    waiters: bool,
    queue: bool,
}

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
            *state.waiters(batch) += 1;
            state = self.written(batch).wait(state).unwrap_or_else(PoisonError::into_inner);
            *state.waiters(batch) -= 1;
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
        let wakes = Wakes {
            next_writer: *state.waiters(number + 1) > 0,
            waiters: *state.waiters(number) > 0,
            queue: state.has_queue(),
        };
        // Woken threads require the state at once.
        drop(state);
        match written {
            Ok(()) => self.wake(number, &wakes),
            Err(_) => self.wake_all(),
        }
        written
    }

    /// Wakes one thread to write the next batch, and all that wait for the completed one.
    fn wake(&self, number: u64, wakes: &Wakes) {
        if wakes.next_writer {
            self.written(number + 1).notify_one();
        }
        if wakes.waiters {
            self.written(number).notify_all();
        }
        if wakes.queue {
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
