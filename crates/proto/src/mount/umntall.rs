//! UMNTALL removes all mounts of the caller from the list (RFC 1094 §A.5.5, RFC 1813 §5.2.4).

use super::PROGRAM;
use crate::Operation;

/// UMNTALL removes all mounts of the caller from the list.
#[derive(Debug, Clone, Copy)]
pub struct Umntall<const VERSION: u32>;

impl<const VERSION: u32> Operation for Umntall<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 4;
    const NAME: &'static str = "UMNTALL";
    type Arguments<'a> = ();
    type Reply<'a> = ();
}
