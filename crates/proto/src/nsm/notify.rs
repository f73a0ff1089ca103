//! NOTIFY reports that a host restarted (X/Open XNFS).

use xdr::{Decode, Encode};

use super::{MAX_NAME_BYTES, PROGRAM, VERSION};
use crate::Operation;

/// The arguments of NOTIFY (`stat_chge`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct NotifyArgs<'a> {
    /// The name of the host.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
    /// Its new state number.
    pub state: i32,
}

/// NOTIFY reports that a host restarted.
#[derive(Debug, Clone, Copy)]
pub struct Notify;

impl Operation for Notify {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 6;
    const NAME: &'static str = "NOTIFY";
    type Arguments<'a> = NotifyArgs<'a>;
    type Reply<'a> = ();
}
