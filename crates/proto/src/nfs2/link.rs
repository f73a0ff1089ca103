//! LINK gives a file one more name (RFC 1094 §2.2.13).

use xdr::{Decode, Encode};

use super::{DirOp, FileHandle, PROGRAM, Res, VERSION};
use crate::Operation;

/// What LINK needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LinkArgs<'a> {
    /// The file.
    pub file: FileHandle,
    /// Its further name.
    pub link: DirOp<'a>,
}

/// LINK gives a file one more name.
#[derive(Debug, Clone, Copy)]
pub struct Link;

impl Operation for Link {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 12;
    const NAME: &'static str = "LINK";
    type Arguments<'a> = LinkArgs<'a>;
    type Reply<'a> = Res<()>;
}
