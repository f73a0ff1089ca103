//! NULL does nothing; a reply shows that the server is up (RFC 1833 §2.2.1).

use super::PROGRAM;
use crate::Operation;

/// NULL does nothing; a reply shows that the server is up.
#[derive(Debug, Clone, Copy)]
pub struct Null<const VERSION: u32>;

impl<const VERSION: u32> Operation for Null<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 0;
    const NAME: &'static str = "NULL";
    type Arguments<'a> = ();
    type Reply<'a> = ();
}
