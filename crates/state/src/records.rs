//! The record of clients that survives a restart (RFC 8881 §8.4.2.1, §8.4.3).

use std::time::Duration;

use crate::Limits;

/// The protocol of a recorded client; names of different protocols never match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// A client of NFSv4.0: the name is its `nfs_client_id4` string.
    V40,
    /// A client of NFSv4.1 or later: the name is its `co_ownerid`.
    V41,
    /// A host of the lock protocol: the name is the one that it is monitored by.
    Nlm,
}

/// A client that may have state to reclaim after a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRecord {
    /// Its protocol.
    pub kind: RecordKind,
    /// Its name, at most [`crate::limits::NAME_MAX_BYTES`] bytes.
    pub name: Box<[u8]>,
    /// Whether some of its state was revoked without its knowledge: it may not reclaim (RFC 8881 §8.4.3).
    pub revoked: bool,
}

/// The store of client records failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordsError(pub String);

/// A store of client records. A successful call returns when its change survives a crash; later grants rely on it. A
/// failed change is remembered and written with the next successful one. Calls hold the state's mutex; they occur when
/// a client gets its first state or has had none for a while, and when state is revoked.
pub trait ClientRecords: Send {
    /// The records of previous boots.
    ///
    /// # Errors
    /// When the store cannot be read; the server must not grant anything then.
    fn load(&mut self) -> Result<Vec<ClientRecord>, RecordsError>;

    /// Adds a record, or replaces the one of the same kind and name.
    ///
    /// # Errors
    /// When the record may not survive a crash.
    fn add(&mut self, record: &ClientRecord) -> Result<(), RecordsError>;

    /// Removes records, all in one step; missing ones are no error.
    ///
    /// # Errors
    /// When a record may return after a crash.
    fn remove(&mut self, names: &[(RecordKind, &[u8])]) -> Result<(), RecordsError>;

    /// Marks whether state of the client was revoked without its knowledge; a missing record is no error.
    ///
    /// # Errors
    /// When the mark may not survive a crash.
    fn mark(&mut self, kind: RecordKind, name: &[u8], revoked: bool) -> Result<(), RecordsError>;

    /// Ensures that no record survives a crash, if the store has no space to remove single ones. The next successful
    /// call restores those that still count.
    ///
    /// # Errors
    /// When records may return after a crash.
    fn give_up(&mut self) -> Result<(), RecordsError>;
}

/// A store that keeps nothing: every reclaim after a restart is refused.
#[derive(Debug, Default)]
pub struct NoRecords;

impl ClientRecords for NoRecords {
    fn load(&mut self) -> Result<Vec<ClientRecord>, RecordsError> {
        Ok(Vec::new())
    }

    fn add(&mut self, _: &ClientRecord) -> Result<(), RecordsError> {
        Ok(())
    }

    fn remove(&mut self, _: &[(RecordKind, &[u8])]) -> Result<(), RecordsError> {
        Ok(())
    }

    fn mark(&mut self, _: RecordKind, _: &[u8], _: bool) -> Result<(), RecordsError> {
        Ok(())
    }

    fn give_up(&mut self) -> Result<(), RecordsError> {
        Ok(())
    }
}

/// The most doublings of the time on record without state.
const MOST_DOUBLINGS: u32 = 5;

/// Whether a client is on record.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    is_kept: bool,
    /// The time since when it has held nothing, and its `done` number at that time.
    idle: Option<(Duration, u64)>,
    /// The number of times that it went off the record.
    releases: u32,
}

impl Recording {
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    pub(crate) fn keep(&mut self) {
        self.is_kept = true;
    }

    pub(crate) fn release(&mut self) {
        *self = Recording { is_kept: false, idle: None, releases: self.releases.saturating_add(1) };
    }

    /// Whether it must go off the record now. `done` changes whenever the client is granted something.
    pub(crate) fn is_over(&mut self, now: Duration, holds: bool, done: u64, limits: &Limits) -> bool {
        if holds || !self.is_kept {
            self.idle = None;
            return false;
        }
        let patience = limits.record_idle * ((1 << self.releases.min(MOST_DOUBLINGS)) - 1);
        let since = match self.idle {
            Some((since, before)) if before == done => since,
            _ => now,
        };
        self.idle = Some((since, done));
        since + patience <= now
    }
}
