//! MKDIR makes a directory (RFC 1094 §2.2.15).

use super::create::CreateArgs;
use super::{DirOpOk, PROGRAM, Res, VERSION};
use crate::Operation;

/// MKDIR makes a directory.
#[derive(Debug, Clone, Copy)]
pub struct Mkdir;

impl Operation for Mkdir {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 14;
    const NAME: &'static str = "MKDIR";
    type Arguments<'a> = CreateArgs<'a>;
    type Reply<'a> = Res<DirOpOk>;
}
