//! REMOVE removes a file (RFC 1813 §3.3.12).

use xdr::{Decode, Encode};

use super::{DirOp, PROGRAM, Res, VERSION, WccData};
use crate::Operation;

/// The arguments of REMOVE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RemoveArgs<'a> {
    /// Its directory and name.
    pub object: DirOp<'a>,
}

/// REMOVE removes a file.
#[derive(Debug, Clone, Copy)]
pub struct Remove;

impl Operation for Remove {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 12;
    const NAME: &'static str = "REMOVE";
    type Arguments<'a> = RemoveArgs<'a>;
    type Reply<'a> = Res<WccData, WccData>;
}
