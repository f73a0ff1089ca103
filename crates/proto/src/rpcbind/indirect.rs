//! INDIRECT calls a procedure like CALLIT, but also returns failures (RFC 1833 §2.2.2; version 4 only).

use super::{PROGRAM, RemoteCall, RemoteResult};
use crate::Operation;

/// INDIRECT calls a procedure like CALLIT, but also returns failures.
#[derive(Debug, Clone, Copy)]
pub struct Indirect;

impl Operation for Indirect {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = 4;
    const PROCEDURE: u32 = 10;
    const NAME: &'static str = "INDIRECT";
    type Arguments<'a> = RemoteCall<'a>;
    type Reply<'a> = RemoteResult<'a>;
}
