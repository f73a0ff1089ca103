//! SIMU_CRASH makes the monitor act as if its host had restarted (X/Open XNFS).

use super::{PROGRAM, VERSION};
use crate::Operation;

/// SIMU_CRASH makes the monitor act as if its host had restarted.
#[derive(Debug, Clone, Copy)]
pub struct SimuCrash;

impl Operation for SimuCrash {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 5;
    const NAME: &'static str = "SIMU_CRASH";
    type Arguments<'a> = ();
    type Reply<'a> = ();
}
