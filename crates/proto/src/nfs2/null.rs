//! NULL does nothing; a reply shows that the server is up (RFC 1094 §2.2.1).

use super::{PROGRAM, VERSION};
use crate::Operation;

/// NULL does nothing; a reply shows that the server is up.
#[derive(Debug, Clone, Copy)]
pub struct Null;

impl Operation for Null {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 0;
    const NAME: &'static str = "NULL";
    type Arguments<'a> = ();
    type Reply<'a> = ();
}
