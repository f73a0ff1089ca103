//! DUMP lists the mounts (RFC 1094 §A.5.3, RFC 1813 §5.2.2).

use xdr::{Decode, Encode};

use super::{MAX_MOUNTS, MAX_NAME_BYTES, MAX_PATH_BYTES, PROGRAM};
use crate::Operation;

/// The results of DUMP (`mountlist`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DumpReply<'a> {
    /// The mounts.
    #[xdr(list, max = MAX_MOUNTS)]
    pub mounts: Vec<Mount<'a>>,
}

/// A mount that a client reported (`mountbody`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Mount<'a> {
    /// The client.
    #[xdr(max = MAX_NAME_BYTES)]
    pub host_name: &'a [u8],
    /// The directory.
    #[xdr(max = MAX_PATH_BYTES)]
    pub directory: &'a [u8],
}

/// DUMP lists the mounts.
#[derive(Debug, Clone, Copy)]
pub struct Dump<const VERSION: u32>;

impl<const VERSION: u32> Operation for Dump<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 2;
    const NAME: &'static str = "DUMP";
    type Arguments<'a> = ();
    type Reply<'a> = DumpReply<'a>;
}
