//! GETSTAT returns how often each procedure was called (RFC 1833 §2.2.2; version 4 only).

use xdr::{Decode, Encode};

use super::{MAX_NETID_BYTES, MAX_STATISTICS, PROGRAM};
use crate::Operation;

/// The results of GETSTAT (`rpcb_stat_byvers`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct GetstatReply<'a> {
    /// Those of version 2.
    pub version_2: Statistics<'a>,
    /// Those of version 3.
    pub version_3: Statistics<'a>,
    /// Those of version 4.
    pub version_4: Statistics<'a>,
}

/// The number of counted procedures (RPCBSTAT_HIGHPROC).
pub const COUNTED_PROCEDURES: usize = 13;

/// The call counts of one version (RFC 1833 §2.1, `rpcb_stat`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Statistics<'a> {
    /// Calls by procedure.
    pub calls: [u32; COUNTED_PROCEDURES],
    /// Successful calls of SET.
    pub sets: u32,
    /// Successful calls of UNSET.
    pub unsets: u32,
    /// The lookups by GETPORT, GETADDR and the like.
    #[xdr(list, max = MAX_STATISTICS)]
    pub lookups: Vec<LookupCount<'a>>,
    /// The calls by CALLIT and the like.
    #[xdr(list, max = MAX_STATISTICS)]
    pub remote_calls: Vec<RemoteCallCount<'a>>,
}

/// The number of lookups of one service (`rpcbs_addrlist`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LookupCount<'a> {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// Successful lookups.
    pub found: u32,
    /// Failed ones.
    pub not_found: u32,
    /// The transport.
    #[xdr(max = MAX_NETID_BYTES)]
    pub netid: &'a [u8],
}

/// The number of calls of one procedure through rpcbind (`rpcbs_rmtcalllist`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RemoteCallCount<'a> {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The procedure.
    pub procedure: u32,
    /// Successful calls.
    pub succeeded: u32,
    /// Failed ones.
    pub failed: u32,
    /// Calls by INDIRECT rather than CALLIT.
    pub indirect: u32,
    /// The transport.
    #[xdr(max = MAX_NETID_BYTES)]
    pub netid: &'a [u8],
}

/// GETSTAT returns how often each procedure was called.
#[derive(Debug, Clone, Copy)]
pub struct Getstat;

impl Operation for Getstat {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = 4;
    const PROCEDURE: u32 = 12;
    const NAME: &'static str = "GETSTAT";
    type Arguments<'a> = ();
    type Reply<'a> = GetstatReply<'a>;
}
