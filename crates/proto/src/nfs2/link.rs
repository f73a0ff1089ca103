//! LINK adds a name to a file (RFC 1094 §2.2.13).

use xdr::{Decode, Encode};

use super::{DirOp, FileHandle, PROGRAM, Res, VERSION};
use crate::Operation;

/// The arguments of LINK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct LinkArgs<'a> {
    /// The file.
    pub file: FileHandle,
    /// Its new name.
    pub link: DirOp<'a>,
}

/// LINK adds a name to a file.
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
