//! RMDIR removes a directory (RFC 1094 §2.2.16).

use xdr::{Decode, Encode};

use super::{DirOp, PROGRAM, Res, VERSION};
use crate::Operation;

/// The arguments of RMDIR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct RmdirArgs<'a> {
    /// Its directory and name.
    pub object: DirOp<'a>,
}

/// RMDIR removes a directory.
#[derive(Debug, Clone, Copy)]
pub struct Rmdir;

impl Operation for Rmdir {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 15;
    const NAME: &'static str = "RMDIR";
    type Arguments<'a> = RmdirArgs<'a>;
    type Reply<'a> = Res<()>;
}
