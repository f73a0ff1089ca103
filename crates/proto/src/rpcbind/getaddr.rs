//! GETADDR finds the address of a service, or an empty one; in version 4 of any version of it (RFC 1833 §2.2.1).

use super::{PROGRAM, Rpcb, Uaddr};
use crate::Operation;

/// GETADDR finds the address of a service, or an empty one; in version 4 of any version of it.
#[derive(Debug, Clone, Copy)]
pub struct Getaddr<const VERSION: u32>;

impl<const VERSION: u32> Operation for Getaddr<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 3;
    const NAME: &'static str = "GETADDR";
    type Arguments<'a> = Rpcb<'a>;
    type Reply<'a> = Uaddr<'a>;
}
