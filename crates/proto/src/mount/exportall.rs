//! EXPORTALL equals EXPORT (versions 1 and 2 only; no RFC has it, but Sun's mount.x does).

use super::PROGRAM;
use super::export::ExportReply;
use crate::Operation;

/// EXPORTALL equals EXPORT.
#[derive(Debug, Clone, Copy)]
pub struct Exportall<const VERSION: u32>;

impl<const VERSION: u32> Operation for Exportall<VERSION> {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 6;
    const NAME: &'static str = "EXPORTALL";
    type Arguments<'a> = ();
    type Reply<'a> = ExportReply<'a>;
}
