//! MON watches a host for restarts (X/Open XNFS).

use xdr::{Decode, Encode};

use super::{MonId, PROGRAM, StatOk, VERSION};
use crate::Operation;

/// The arguments of MON (`mon`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct MonArgs<'a> {
    /// The host, and the procedure to notify.
    pub id: MonId<'a>,
    /// Data for the notification.
    pub private: [u8; 16],
}

/// MON watches a host for restarts.
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
