//! STAT asks whether a host can be watched (X/Open XNFS).

use xdr::{Decode, Encode};

use super::{MAX_NAME_BYTES, Outcome, PROGRAM, VERSION};
use crate::Operation;

/// What STAT needs (`sm_name`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct StatArgs<'a> {
    /// The name of the host.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
}

/// What STAT and MON tell (`sm_stat_res`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct StatOk {
    /// Whether the host is watched.
    pub outcome: Outcome,
    /// The state number of the monitor that answers: odd while it is up, and another one after each restart.
    pub state: i32,
}

/// STAT asks whether a host can be watched.
#[derive(Debug, Clone, Copy)]
pub struct Stat;

impl Operation for Stat {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 1;
    const NAME: &'static str = "STAT";
    type Arguments<'a> = StatArgs<'a>;
    type Reply<'a> = StatOk;
}
