//! SET registers a service (RFC 1833 §2.2.1).

use super::{PROGRAM, Rpcb};
use crate::Operation;

/// SET registers a service.
#[derive(Debug, Clone, Copy)]
pub struct Set<const VERSION: u32>;

impl<const VERSION: u32> Operation for Set<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 1;
    const NAME: &'static str = "SET";
    type Arguments<'a> = Rpcb<'a>;
    type Reply<'a> = bool;
}
