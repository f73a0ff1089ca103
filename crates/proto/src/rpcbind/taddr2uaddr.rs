//! TADDR2UADDR turns an address in the transport's own form into a universal one (RFC 1833 §2.2.1).

use super::{Netbuf, PROGRAM, Uaddr};
use crate::Operation;

/// TADDR2UADDR turns an address in the transport's own form into a universal one.
#[derive(Debug, Clone, Copy)]
pub struct Taddr2uaddr<const VERSION: u32>;

impl<const VERSION: u32> Operation for Taddr2uaddr<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 8;
    const NAME: &'static str = "TADDR2UADDR";
    type Arguments<'a> = Netbuf<'a>;
    type Reply<'a> = Uaddr<'a>;
}
