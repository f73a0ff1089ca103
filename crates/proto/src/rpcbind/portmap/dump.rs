//! DUMP lists all services (RFC 1833 §3.2).

use xdr::{Decode, Encode};

use super::super::MAX_SERVICES;
use super::{Mapping, PROGRAM, VERSION};
use crate::Operation;

/// The results of DUMP (`pmaplist`).
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DumpReply {
    /// The services.
    #[xdr(list, max = MAX_SERVICES)]
    pub mappings: Vec<Mapping>,
}

/// DUMP lists all services.
#[derive(Debug, Clone, Copy)]
pub struct Dump;

impl Operation for Dump {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 4;
    const NAME: &'static str = "DUMP";
    type Arguments<'a> = ();
    type Reply<'a> = DumpReply;
}
