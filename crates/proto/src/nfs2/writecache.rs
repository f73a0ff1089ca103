//! WRITECACHE does nothing: it was reserved for version 3, which does not have it (RFC 1094 §2.2.8).

use super::{PROGRAM, VERSION};
use crate::Operation;

/// WRITECACHE does nothing: it was reserved for version 3, which does not have it.
#[derive(Debug, Clone, Copy)]
pub struct Writecache;

impl Operation for Writecache {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 7;
    const NAME: &'static str = "WRITECACHE";
    type Arguments<'a> = ();
    type Reply<'a> = ();
}
