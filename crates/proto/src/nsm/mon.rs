//! MON has a host watched for restarts (X/Open XNFS).

use xdr::{Decode, Encode};

use super::{MonId, PROGRAM, StatOk, VERSION};
use crate::Operation;

/// What MON needs (`mon`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct MonArgs<'a> {
    /// Which host, and who is told.
    pub id: MonId<'a>,
    /// Comes back when the host restarts.
    pub private: [u8; 16],
}

/// MON has a host watched for restarts.
#[derive(Debug, Clone, Copy)]
pub struct Mon;

impl Operation for Mon {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 2;
    const NAME: &'static str = "MON";
    type Arguments<'a> = MonArgs<'a>;
    type Reply<'a> = StatOk;
}
