//! ROOT is obsolete: MNT returns the root of a file system (RFC 1094 §2.2.4).

use super::{PROGRAM, VERSION};
use crate::Operation;

/// ROOT is obsolete: MNT returns the root of a file system.
#[derive(Debug, Clone, Copy)]
pub struct Root;

impl Operation for Root {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 3;
    const NAME: &'static str = "ROOT";
    type Arguments<'a> = ();
    type Reply<'a> = ();
}
