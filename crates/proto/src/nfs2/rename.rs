//! RENAME moves a file to another name (RFC 1094 §2.2.12).

use xdr::{Decode, Encode};

use super::{DirOp, PROGRAM, Res, VERSION};
use crate::Operation;

/// The arguments of RENAME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RenameArgs<'a> {
    /// The old directory and name.
    pub from: DirOp<'a>,
    /// The new directory and name.
    pub to: DirOp<'a>,
}

/// RENAME moves a file to another name.
#[derive(Debug, Clone, Copy)]
pub struct Rename;

impl Operation for Rename {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 11;
    const NAME: &'static str = "RENAME";
    type Arguments<'a> = RenameArgs<'a>;
    type Reply<'a> = Res<()>;
}
