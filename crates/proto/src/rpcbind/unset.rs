//! UNSET removes a service from the list, on one transport or, when none is named, on all (RFC 1833 §2.2.1).

use super::{PROGRAM, Rpcb};
use crate::Operation;

/// UNSET removes a service from the list, on one transport or, when none is named, on all.
#[derive(Debug, Clone, Copy)]
pub struct Unset<const VERSION: u32>;

impl<const VERSION: u32> Operation for Unset<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 2;
    const NAME: &'static str = "UNSET";
    type Arguments<'a> = Rpcb<'a>;
    type Reply<'a> = bool;
}
