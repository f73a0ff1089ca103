//! GETVERSADDR finds the address of exactly this version of a service, or an empty one (RFC 1833 §2.2.2; version 4).

use super::{PROGRAM, Rpcb, Uaddr};
use crate::Operation;

/// GETVERSADDR finds the address of exactly this version of a service, or an empty one.
#[derive(Debug, Clone, Copy)]
pub struct Getversaddr;

impl Operation for Getversaddr {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = 4;
    const PROCEDURE: u32 = 9;
    const NAME: &'static str = "GETVERSADDR";
    type Arguments<'a> = Rpcb<'a>;
    type Reply<'a> = Uaddr<'a>;
}
