//! DUMP lists all services (RFC 1833 §2.2.1).

use xdr::{Decode, Encode};

use super::{MAX_SERVICES, PROGRAM, Rpcb};
use crate::Operation;

/// The results of DUMP (`rpcblist_ptr`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DumpReply<'a> {
    /// The services.
    #[xdr(list, max = MAX_SERVICES)]
    pub services: Vec<Rpcb<'a>>,
}

/// DUMP lists all services.
#[derive(Debug, Clone, Copy)]
pub struct Dump<const VERSION: u32>;

impl<const VERSION: u32> Operation for Dump<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 4;
    const NAME: &'static str = "DUMP";
    type Arguments<'a> = ();
    type Reply<'a> = DumpReply<'a>;
}
