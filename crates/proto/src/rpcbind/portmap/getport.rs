//! GETPORT finds the port of a service, or 0 (RFC 1833 §3.2).

use super::{Mapping, PROGRAM, VERSION};
use crate::Operation;

/// GETPORT finds the port of a service, or 0.
#[derive(Debug, Clone, Copy)]
pub struct Getport;

impl Operation for Getport {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 3;
    const NAME: &'static str = "GETPORT";
    type Arguments<'a> = Mapping;
    type Reply<'a> = u32;
}
