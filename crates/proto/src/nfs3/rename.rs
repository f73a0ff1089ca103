//! RENAME moves a file to another name (RFC 1813 §3.3.14).

use xdr::{Decode, Encode};

use super::{DirOp, PROGRAM, Res, VERSION, WccData};
use crate::Operation;

/// The arguments of RENAME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RenameArgs<'a> {
    /// The old directory and name.
    pub from: DirOp<'a>,
    /// The new directory and name.
    pub to: DirOp<'a>,
}

/// The attributes of both directories before and after a RENAME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
pub struct RenameWcc {
    /// Those of the old directory.
    pub from_dir: WccData,
    /// Those of the new directory.
    pub to_dir: WccData,
}

/// RENAME moves a file to another name.
#[derive(Debug, Clone, Copy)]
pub struct Rename;

impl Operation for Rename {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 14;
    const NAME: &'static str = "RENAME";
    type Arguments<'a> = RenameArgs<'a>;
    type Reply<'a> = Res<RenameWcc, RenameWcc>;
}
