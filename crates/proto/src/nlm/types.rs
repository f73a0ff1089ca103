use std::fmt::Debug;

use xdr::{Decode, Encode};

use super::{MAX_CALLER_NAME_BYTES, MAX_NETOBJ_BYTES};

/// A version of the protocol.
pub trait Version: Copy + Debug + PartialEq + Eq + 'static {
    /// Its number.
    const NUMBER: u32;
    /// The type of offsets and lengths.
    type Offset: Copy + Debug + PartialEq + Eq + Into<u64> + TryFrom<u64> + Encode + for<'a> Decode<'a>;
}

/// Version 1, for NFS version 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V1;

/// Version 3, for NFS version 2: as version 1, with share reservations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V3;

/// Version 4, for NFS version 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct V4;

impl Version for V1 {
    const NUMBER: u32 = 1;
    type Offset = u32;
}

impl Version for V3 {
    const NUMBER: u32 = 3;
    type Offset = u32;
}

impl Version for V4 {
    const NUMBER: u32 = 4;
    type Offset = u64;
}

/// The status of a call (`nlm_stats` and `nlm4_stats`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Status {
    /// Success.
    Granted = 0,
    /// The mount was refused.
    Denied = 1,
    /// The server lacks resources.
    DeniedNoLocks = 2,
    /// The client waits, and the server will call GRANTED.
    Blocked = 3,
    /// The server is in its grace period.
    DeniedGracePeriod = 4,
    /// Waiting would be a deadlock.
    Deadlock = 5,
    /// The file system is read-only (version 4, as all below).
    RoFs = 6,
    /// The file no longer exists.
    StaleFh = 7,
    /// The range is too large.
    FBig = 8,
    /// The server failed.
    Failed = 9,
}

/// Bytes that are opaque to the peer (`netobj`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct NetObj<'a>(#[xdr(max = MAX_NETOBJ_BYTES)] pub &'a [u8]);

/// A lock (`nlm_lock` and `nlm4_lock`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Range<'a, O> {
    /// The name of the client's host.
    #[xdr(max = MAX_CALLER_NAME_BYTES)]
    pub caller_name: &'a [u8],
    /// The file.
    pub file: NetObj<'a>,
    /// The owner, unique within a process.
    pub owner: NetObj<'a>,
    /// The number of the owner's process.
    pub svid: i32,
    /// The offset of the range, in bytes.
    pub offset: O,
    /// Its length in bytes, or 0 for everything from the offset on.
    pub length: O,
}

/// A conflicting lock (`nlm_holder` and `nlm4_holder`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Holder<'a, O> {
    /// Whether the lock is for writing.
    pub exclusive: bool,
    /// The number of the owner's process.
    pub svid: i32,
    /// The owner.
    pub owner: NetObj<'a>,
    /// The offset of the range, in bytes.
    pub offset: O,
    /// Its length in bytes, or 0 for everything from the offset on.
    pub length: O,
}

/// The results of LOCK, CANCEL, UNLOCK and GRANTED (`nlm_res` and `nlm4_res`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Res<'a> {
    /// The cookie of the call.
    pub cookie: NetObj<'a>,
    /// The result.
    pub status: Status,
}
