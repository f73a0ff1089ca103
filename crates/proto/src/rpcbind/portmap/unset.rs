//! UNSET removes a service from the list, whatever its transport and port (RFC 1833 §3.2).

use super::{Mapping, PROGRAM, VERSION};
use crate::Operation;

/// UNSET removes a service from the list, whatever its transport and port.
#[derive(Debug, Clone, Copy)]
pub struct Unset;

impl Operation for Unset {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 2;
    const NAME: &'static str = "UNSET";
    type Arguments<'a> = Mapping;
    type Reply<'a> = bool;
}
