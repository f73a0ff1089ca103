//! SET registers a service (RFC 1833 §3.2).

use super::{Mapping, PROGRAM, VERSION};
use crate::Operation;

/// SET registers a service.
#[derive(Debug, Clone, Copy)]
pub struct Set;

impl Operation for Set {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 1;
    const NAME: &'static str = "SET";
    type Arguments<'a> = Mapping;
    type Reply<'a> = bool;
}
