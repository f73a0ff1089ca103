//! INDIRECT calls a procedure of another service like CALLIT, but answers failures too (RFC 1833 §2.2.2; version 4 only).

use super::{PROGRAM, RemoteCall, RemoteResult};
use crate::Operation;

/// INDIRECT calls a procedure of another service like CALLIT, but answers failures too.
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
