//! UADDR2TADDR turns a universal address into the transport's own form (RFC 1833 §2.2.1).

use super::{Netbuf, PROGRAM, Uaddr};
use crate::Operation;

/// UADDR2TADDR turns a universal address into the transport's own form.
#[derive(Debug, Clone, Copy)]
pub struct Uaddr2taddr<const VERSION: u32>;

impl<const VERSION: u32> Operation for Uaddr2taddr<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 7;
    const NAME: &'static str = "UADDR2TADDR";
    type Arguments<'a> = Uaddr<'a>;
    type Reply<'a> = Netbuf<'a>;
}
