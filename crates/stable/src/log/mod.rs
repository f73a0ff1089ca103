//! A log of records in a [`Device`](crate::Device).
//!
//! # The file
//! Two header blocks, which are written in turn, are followed by a ring of batches. Each batch is what one write
//! stored: whole blocks with a number, a position, the log's random id, and a checksum over all of it. Positions count
//! the bytes of the ring and never come back, so that what an earlier round has left is not taken for something new.
//! Only who knows the id could write data that look like a batch.
//!
//! # What always holds
//! - One write of a batch runs at a time, and the next one begins when it has ended: a batch is durable only if all
//!   batches before it are.
//! - A batch goes only where nothing is needed. A trim frees room when the header that says so is durable.
//! - Opening a log changes nothing in it.
//!
//! So a write that a crash interrupts leaves at most one incomplete batch, and whole ones never follow it. When one
//! does, the log was damaged later, and opening it fails.

mod append;
mod batch;
mod check;
mod create;
mod error;
mod header;
mod kept;
mod open;
mod pace;
mod position;
mod records;
mod ring;
mod state;
mod status;
mod survey;
mod trim;
mod wait;

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(crate) use append::Ahead;
pub use check::Check;
pub use error::LogError;
pub use position::Position;
pub use records::Records;
pub use status::Status;
pub use survey::Damage;

use batch::{HEAD_BYTES, RECORD_HEAD_BYTES};
use header::Header;
use kept::Kept;
use pace::Pace;
use ring::Ring;
use state::State;

/// The largest record that a log takes if it is not too small for it, in bytes.
pub const MAX_RECORD_BYTES: usize = (1 << 20) + 4096;

/// The longest description of an owner, in bytes.
pub const MAX_OWNER_BYTES: usize = 3 << 10;

/// The most bytes of a batch; two such pieces of memory belong to each log.
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Random bytes that tell a log from every other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogId([u8; 16]);

/// A log: records in, durable in groups, and out again after a crash.
///
/// All methods may be called by many threads at a time. There is no thread behind a log: a thread that
/// [waits](Log::wait) and finds no write running writes what all threads have appended so far. Records that nobody has
/// waited for may be lost when the log is dropped.
pub struct Log {
    ring: Ring,
    id: LogId,
    /// What the newest header says. Held while a header is written.
    header: Mutex<Header>,
    state: Mutex<State>,
    /// Where threads wait for a batch: those of even numbers and those of odd ones.
    written: [Condvar; 2],
    /// Where appends wait for room.
    room: Condvar,
    pace: Pace,
}

impl Log {
    fn new(ring: Ring, header: Header, kept: Kept) -> Log {
        let batch_bytes = batch_bytes(&ring);
        Log {
            ring,
            id: header.id,
            header: Mutex::new(header),
            state: Mutex::new(State::new(kept, batch_bytes)),
            written: [Condvar::new(), Condvar::new()],
            room: Condvar::new(),
            pace: Pace::new(),
        }
    }

    /// What the owner wrote about itself.
    pub fn owner(&self) -> Vec<u8> {
        self.header().owner.clone()
    }

    /// The position behind the last durable record.
    pub fn durable(&self) -> Position {
        Position::new(self.state().kept().end())
    }

    /// The position behind the last record.
    pub fn end(&self) -> Position {
        Position::new(self.state().end())
    }

    /// Whether writes of the device take so little time lately that an event loop may wait for one.
    pub(crate) fn is_quick(&self) -> bool {
        self.pace.is_quick()
    }

    /// Whether a write of the device has failed, so that the log takes no more records.
    pub(crate) fn has_failed(&self) -> bool {
        self.state().check().is_err()
    }

    /// The position up to which every record's change is made.
    pub(crate) fn made_end(&self) -> Position {
        Position::new(self.state().made_end())
    }

    /// The position up to which records are not needed any more.
    pub fn tail(&self) -> Position {
        Position::new(self.state().kept().tail())
    }

    /// The largest record that this log takes, in bytes.
    pub fn max_record_bytes(&self) -> usize {
        MAX_RECORD_BYTES.min(batch_bytes(&self.ring) - HEAD_BYTES - RECORD_HEAD_BYTES)
    }

    /// How many bytes of records the log can keep at a time, with what is stored beside them.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.ring.bytes()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn header(&self) -> MutexGuard<'_, Header> {
        self.header.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The most bytes of a batch in this ring.
fn batch_bytes(ring: &Ring) -> usize {
    usize::try_from(ring.bytes()).unwrap_or(usize::MAX).min(MAX_BATCH_BYTES)
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("path", &self.ring.path()).finish_non_exhaustive()
    }
}
