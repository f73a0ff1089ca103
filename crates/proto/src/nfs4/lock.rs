//! LOCK locks a range (RFC 7530 §16.10, RFC 8881 §18.10).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, ResOr, StateOwner, Stateid, Status};

/// The arguments of LOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LockArgs<'a> {
    /// The kind of lock, and whether the client waits.
    pub lock_type: LockType,
    /// Whether the client held the lock before the server restarted.
    pub reclaim: bool,
    /// The offset of the range, in bytes.
    pub offset: u64,
    /// Its length in bytes; all ones for everything from the offset on.
    pub length: u64,
    /// The lock owner.
    pub locker: Locker<'a>,
}

/// Kinds of locks (`nfs_lock_type4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum LockType {
    /// For reading.
    Read = 1,
    /// For writing.
    Write = 2,
    /// For reading, and the client retries until it is granted.
    ReadWait = 3,
    /// For writing, and the client retries until it is granted.
    WriteWait = 4,
}

/// The lock owner of a LOCK (`locker4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Locker<'a> {
    /// An owner that has locks on the file: `exist_lock_owner4`.
    #[xdr(case = 0)]
    Existing {
        /// The stateid of these locks.
        lock_stateid: Stateid,
        /// The owner's sequence number; ignored from 4.1 on.
        lock_seqid: u32,
    },
    /// An owner's first lock on the file: `open_to_lock_owner4`.
    #[xdr(case = 1)]
    New {
        /// The open owner's sequence number; ignored from 4.1 on.
        open_seqid: u32,
        /// The open that it belongs to.
        open_stateid: Stateid,
        /// The lock owner's first sequence number; ignored from 4.1 on.
        lock_seqid: u32,
        /// The lock owner.
        owner: StateOwner<'a>,
    },
}

/// The results of LOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LockOk {
    /// The owner's locks on the file.
    pub stateid: Stateid,
}

/// A conflicting lock (`LOCK4denied`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LockDenied<'a> {
    /// The offset of its range, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// For reading or writing.
    pub lock_type: LockType,
    /// The holder.
    pub owner: StateOwner<'a>,
}

/// LOCK locks a range.
#[derive(Debug, Clone, Copy)]
pub struct Lock;

impl CompoundOperation for Lock {
    const NUMBER: OpNumber = OpNumber::Lock;
    type Arguments<'a> = LockArgs<'a>;
    type Reply<'a> = ResOr<LockOk, LockDenied<'a>, { Status::Denied as u32 }>;
}
