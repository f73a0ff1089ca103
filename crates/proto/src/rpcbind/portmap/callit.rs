//! CALLIT calls a procedure of another service on the same machine (RFC 1833 §3.2).

use xdr::{Decode, Encode};

use super::super::{MAX_CALL_BYTES, RemoteCall};
use super::{PROGRAM, VERSION};
use crate::Operation;

/// The results of CALLIT (`call_result`). A call that fails has no reply at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CallitReply<'a> {
    /// The service's port.
    pub port: u32,
    /// The procedure's results.
    #[xdr(max = MAX_CALL_BYTES)]
    pub results: &'a [u8],
}

/// CALLIT calls a procedure of another service on the same machine.
#[derive(Debug, Clone, Copy)]
pub struct Callit;

impl Operation for Callit {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 5;
    const NAME: &'static str = "CALLIT";
    type Arguments<'a> = RemoteCall<'a>;
    type Reply<'a> = CallitReply<'a>;
}
