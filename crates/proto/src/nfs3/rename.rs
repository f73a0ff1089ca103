//! RENAME moves a file to another name (RFC 1813 §3.3.14).

use xdr::{Decode, Encode};

use super::{DirOp, PROGRAM, Res, VERSION, WccData};
use crate::Operation;

/// What RENAME needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RenameArgs<'a> {
    /// What to move.
    pub from: DirOp<'a>,
    /// Where to.
    pub to: DirOp<'a>,
}

/// The attributes of both directories before and after a RENAME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
pub struct RenameWcc {
    /// Of the directory that lost the name.
    pub from_dir: WccData,
    /// Of the directory that got it.
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
