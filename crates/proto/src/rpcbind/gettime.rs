//! GETTIME returns the server's time in seconds since 1970 (RFC 1833 §2.2.1).

use super::PROGRAM;
use crate::Operation;

/// GETTIME returns the server's time in seconds since 1970.
#[derive(Debug, Clone, Copy)]
pub struct Gettime<const VERSION: u32>;

impl<const VERSION: u32> Operation for Gettime<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 6;
    const NAME: &'static str = "GETTIME";
    type Arguments<'a> = ();
    type Reply<'a> = u32;
}
