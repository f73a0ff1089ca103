//! A log of records in a [`Device`](crate::Device).
//!
//! # The file
//!
//! Two header blocks, written in turn, are followed by a ring of batches. Each batch is the result of one write: whole
//! blocks with a number, a position, the log's random id, and a checksum over all of it. Positions count the bytes
//! written to the ring and never repeat, so that data of an earlier round is not mistaken for new data. Without the id,
//! nobody can write data that look like a batch.
//!
//! # What always holds
//!
//! - Writes of batches do not overlap: a batch is durable only if all batches before it are.
//! - A batch never overwrites needed records. A trim frees room only after its header is durable.
//! - Opening a log changes nothing in it.
//!
//! So a crash leaves at most one incomplete batch, and no complete one follows it. If one does, the log was damaged
//! later, and opening it fails.

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
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(crate) use append::Ahead;
pub use check::Check;
pub use error::LogError;
pub use position::Position;
pub use records::Records;
pub use status::Status;
pub use survey::Damage;

use crate::hex::hex;
use batch::{HEAD_BYTES, RECORD_HEAD_BYTES};
use header::Header;
use kept::KeptBatches;
use pace::Pace;
use ring::Ring;
use state::LogState;

/// The largest record, in bytes; a small log has a lower limit.
pub const MAX_RECORD_BYTES: usize = (1 << 20) + 4096;

/// The longest description of an owner, in bytes.
pub const MAX_OWNER_BYTES: usize = 3 << 10;

/// The maximum size of a batch in bytes; each log has memory for two.
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Random bytes that distinguish a log from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogId([u8; 16]);

/// A log: appends records, makes them durable in groups, and returns them after a crash.
///
/// Threads may call all methods concurrently. The log has no thread of its own: a thread that [waits](Log::wait) and
/// finds no write in progress writes all appended records. Records that nobody has waited for may be lost when the log
/// is dropped.
pub struct Log {
    ring: Ring,
    id: LogId,
    /// The newest header; locked while a header is written.
    header: Mutex<Header>,
    state: Mutex<LogState>,
    /// Wake threads that wait for batches with even and odd numbers.
    written: [Condvar; 2],
    /// Wakes appends that wait for room.
    room: Condvar,
    pace: Pace,
}

impl Log {
    fn new(ring: Ring, header: Header, kept: KeptBatches) -> Log {
        let batch_bytes = batch_bytes(&ring);
        Log {
            ring,
            id: header.id,
            header: Mutex::new(header),
            state: Mutex::new(LogState::new(kept, batch_bytes)),
            written: [Condvar::new(), Condvar::new()],
            room: Condvar::new(),
            pace: Pace::new(),
        }
    }

    /// The owner's description of itself.
    pub fn owner(&self) -> Vec<u8> {
        self.header().owner.clone()
    }

    /// The random id that distinguishes the log from all others, in hexadecimal digits.
    pub(crate) fn id(&self) -> String {
        hex(&self.id.0)
    }

    /// The number of earlier headers. It grows with each trim.
    pub(crate) fn generation(&self) -> u64 {
        self.header().generation
    }

    /// The device's name in messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.ring.path()
    }

    /// The position behind the last durable record.
    pub fn durable(&self) -> Position {
        Position::new(self.state().kept().end())
    }

    /// The position behind the last record.
    pub fn end(&self) -> Position {
        Position::new(self.state().end())
    }

    /// Whether recent writes of the device were so fast that an event loop may wait for one.
    pub(crate) fn is_quick(&self) -> bool {
        self.pace.is_quick()
    }

    /// Whether a write of the device has failed, so that the log takes no more records.
    pub(crate) fn has_failed(&self) -> bool {
        self.state().check().is_err()
    }

    /// The position up to which all recorded changes are made.
    pub(crate) fn made_end(&self) -> Position {
        Position::new(self.state().made_end())
    }

    /// The position up to which records are no longer needed.
    pub fn tail(&self) -> Position {
        Position::new(self.state().kept().tail())
    }

    /// The largest record that this log takes, in bytes.
    pub fn max_record_bytes(&self) -> usize {
        MAX_RECORD_BYTES.min(batch_bytes(&self.ring) - HEAD_BYTES - RECORD_HEAD_BYTES)
    }

    /// The capacity for records and their heads, in bytes.
    pub(crate) fn room_bytes(&self) -> u64 {
        self.ring.bytes()
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn header(&self) -> MutexGuard<'_, Header> {
        self.header.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The maximum size of a batch in this ring.
fn batch_bytes(ring: &Ring) -> usize {
    usize::try_from(ring.bytes()).unwrap_or(usize::MAX).min(MAX_BATCH_BYTES)
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("path", &self.ring.path()).finish_non_exhaustive()
    }
}
