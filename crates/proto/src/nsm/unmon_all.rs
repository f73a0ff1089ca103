//! UNMON_ALL ends all watches of one caller (X/Open XNFS).

use super::{MyId, PROGRAM, StateNumber, VERSION};
use crate::Operation;

/// UNMON_ALL ends all watches of one caller.
#[derive(Debug, Clone, Copy)]
pub struct UnmonAll;

impl Operation for UnmonAll {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 4;
    const NAME: &'static str = "UNMON_ALL";
    type Arguments<'a> = MyId<'a>;
    type Reply<'a> = StateNumber;
}
