//! CALLIT calls a procedure of another service on the same machine; version 4 calls it BCAST (RFC 1833 §2.2.1).

use super::{PROGRAM, RemoteCall, RemoteResult};
use crate::Operation;

/// CALLIT calls a procedure of another service on the same machine; version 4 calls it BCAST.
#[derive(Debug, Clone, Copy)]
pub struct Callit<const VERSION: u32>;

impl<const VERSION: u32> Operation for Callit<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 5;
    const NAME: &'static str = "CALLIT";
    type Arguments<'a> = RemoteCall<'a>;
    type Reply<'a> = RemoteResult<'a>;
}
