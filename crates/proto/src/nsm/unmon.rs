//! UNMON ends the watch over a host (X/Open XNFS).

use super::{MonId, PROGRAM, StateNumber, VERSION};
use crate::Operation;

/// UNMON ends the watch over a host.
#[derive(Debug, Clone, Copy)]
pub struct Unmon;

impl Operation for Unmon {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 3;
    const NAME: &'static str = "UNMON";
    type Arguments<'a> = MonId<'a>;
    type Reply<'a> = StateNumber;
}
