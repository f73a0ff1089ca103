//! The state behind each stateid, published for the hot path: READ and WRITE take no other lock.
//!
//! Only [`crate::core::Core`] writes the table, with its mutex held.

use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::ids::StateKey;
use crate::lease::Lease;
use crate::sync::{read, write};
use crate::{FileKey, ShareAccess, StateError};

/// Shards of the table; unrelated files rarely share one.
const SHARDS: usize = 64;

/// The kind of state behind a stateid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateKind {
    /// An open.
    Open,
    /// A lock owner's locks in one file.
    Lock,
    /// A delegation for reading.
    ReadDelegation,
    /// A delegation for writing.
    WriteDelegation,
}

/// Whether a state is usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateidStatus {
    Valid,
    /// An NFSv4.0 open whose owner has not been confirmed (RFC 7530 §16.18.5).
    Unconfirmed,
    /// An NFSv4.0 open that was closed: kept so that a retransmitted CLOSE finds its owner (RFC 7530 §9.10.1).
    Closed,
    /// Revoked because the lease had ended and another client conflicted.
    Expired,
    /// Revoked by an administrator.
    AdminRevoked,
    /// A delegation that was revoked because it was not returned.
    DelegRevoked,
}

impl StateidStatus {
    pub(crate) fn is_revoked(self) -> bool {
        matches!(self, StateidStatus::Expired | StateidStatus::AdminRevoked | StateidStatus::DelegRevoked)
    }

    /// Whether the state can conflict with others: it is valid or about to be.
    pub(crate) fn holds(self) -> bool {
        matches!(self, StateidStatus::Valid | StateidStatus::Unconfirmed)
    }

    pub(crate) fn check(self) -> Result<(), StateError> {
        match self {
            StateidStatus::Valid => Ok(()),
            StateidStatus::Unconfirmed | StateidStatus::Closed => Err(StateError::BadStateid),
            StateidStatus::Expired => Err(StateError::Expired),
            StateidStatus::AdminRevoked => Err(StateError::AdminRevoked),
            StateidStatus::DelegRevoked => Err(StateError::DelegRevoked),
        }
    }
}

/// One published state.
#[derive(Debug, Clone)]
pub(crate) struct Published {
    pub lease: Arc<Lease>,
    pub file: Arc<FileKey>,
    pub seqid: u32,
    pub access: ShareAccess,
    pub kind: StateKind,
    pub status: StateidStatus,
}

pub(crate) type StateidShard = foldhash::HashMap<StateKey, Published>;

#[derive(Debug)]
pub(crate) struct StateidTable {
    shards: Vec<RwLock<StateidShard>>,
}

impl StateidTable {
    pub(crate) fn new() -> StateidTable {
        StateidTable { shards: (0..SHARDS).map(|_| RwLock::default()).collect() }
    }

    pub(crate) fn read(&self, key: StateKey) -> RwLockReadGuard<'_, StateidShard> {
        read(&self.shards[Self::shard(key)])
    }

    pub(crate) fn write(&self, key: StateKey) -> RwLockWriteGuard<'_, StateidShard> {
        write(&self.shards[Self::shard(key)])
    }

    fn shard(key: StateKey) -> usize {
        // Fibonacci hashing: clients and numbers both count up from 1.
        (key.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize % SHARDS
    }
}
