//! The record of clients that survives a restart (RFC 8881 §8.4.2.1, §8.4.3).

/// Which protocol a recorded client speaks; their names do not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// A client of NFSv4.0: the name is its `nfs_client_id4` string.
    V40,
    /// A client of NFSv4.1 or later: the name is its `co_ownerid`.
    V41,
    /// A host that holds locks by the lock protocol: the name is the one that it is monitored by.
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

/// A store of client records. Each call that succeeds returns when its change would survive a crash: what is granted afterwards
/// relies on it. A change that failed is remembered, and written with the next one that does not fail. The calls are made with the
/// state's mutex held, when a client gets its first state and when it has none for a while, and when state is revoked.
pub trait ClientRecords: Send {
    /// The records that the previous boots left.
    ///
    /// # Errors
    /// When the store cannot be read; the server must not grant anything then.
    fn load(&mut self) -> Result<Vec<ClientRecord>, RecordsError>;

    /// Adds a record, or replaces the one of the same kind and name.
    ///
    /// # Errors
    /// When the record may not survive a crash.
    fn add(&mut self, record: &ClientRecord) -> Result<(), RecordsError>;

    /// Removes records, all of them in one step; no error for one that there is not.
    ///
    /// # Errors
    /// When a record may come back after a crash.
    fn remove(&mut self, names: &[(RecordKind, &[u8])]) -> Result<(), RecordsError>;

    /// Notes whether state of the client was revoked without its knowledge; no error when there is no record.
    ///
    /// # Errors
    /// When the mark may not survive a crash.
    fn mark(&mut self, kind: RecordKind, name: &[u8], revoked: bool) -> Result<(), RecordsError>;

    /// Makes sure that no record survives a crash, in a store that has no space to say which ones must not. The next call that
    /// succeeds brings back those that still count.
    ///
    /// # Errors
    /// When records may come back after a crash.
    fn give_up(&mut self) -> Result<(), RecordsError>;
}

/// A store that forgets everything: every restart refuses every reclaim.
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
