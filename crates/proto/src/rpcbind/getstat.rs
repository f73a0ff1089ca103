//! GETSTAT tells how often each procedure was called (RFC 1833 §2.2.2; version 4 only).

use xdr::{Decode, Encode};

use super::{MAX_NETID_BYTES, MAX_STATISTICS, PROGRAM};
use crate::Operation;

/// What GETSTAT tells (`rpcb_stat_byvers`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct GetstatReply<'a> {
    /// Of version 2.
    pub version_2: Statistics<'a>,
    /// Of version 3.
    pub version_3: Statistics<'a>,
    /// Of version 4.
    pub version_4: Statistics<'a>,
}

/// The number of procedures that are counted (RPCBSTAT_HIGHPROC).
pub const COUNTED_PROCEDURES: usize = 13;

/// How often the procedures of one version were called (RFC 1833 §2.1, `rpcb_stat`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Statistics<'a> {
    /// Calls by procedure.
    pub calls: [u32; COUNTED_PROCEDURES],
    /// Calls of SET that were carried out.
    pub sets: u32,
    /// Calls of UNSET that were carried out.
    pub unsets: u32,
    /// What GETPORT, GETADDR and the like were asked for.
    #[xdr(list, max = MAX_STATISTICS)]
    pub lookups: Vec<LookupCount<'a>>,
    /// What CALLIT and the like were asked for.
    #[xdr(list, max = MAX_STATISTICS)]
    pub remote_calls: Vec<RemoteCallCount<'a>>,
}

/// How often the address of one service was asked for (`rpcbs_addrlist`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LookupCount<'a> {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// How often it was found.
    pub found: u32,
    /// How often it was not.
    pub not_found: u32,
    /// The transport.
    #[xdr(max = MAX_NETID_BYTES)]
    pub netid: &'a [u8],
}

/// How often one procedure was called through rpcbind (`rpcbs_rmtcalllist`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RemoteCallCount<'a> {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The procedure.
    pub procedure: u32,
    /// How often that was carried out.
    pub succeeded: u32,
    /// How often it was not.
    pub failed: u32,
    /// How often by INDIRECT and not by CALLIT.
    pub indirect: u32,
    /// The transport.
    #[xdr(max = MAX_NETID_BYTES)]
    pub netid: &'a [u8],
}

/// GETSTAT tells how often each procedure was called.
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
