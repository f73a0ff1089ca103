//! STAT tests whether a host can be watched (X/Open XNFS).

use xdr::{Decode, Encode};

use super::{MAX_NAME_BYTES, MonResult, PROGRAM, VERSION};
use crate::Operation;

/// The arguments of STAT (`sm_name`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct StatArgs<'a> {
    /// The name of the host.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
}

/// The results of STAT and MON (`sm_stat_res`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct StatOk {
    /// Whether the host is watched.
    pub outcome: MonResult,
    /// The state number of the monitor that replies: odd while it is up, and different after each restart.
    pub state: i32,
}

/// STAT tests whether a host can be watched.
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
