//! MKDIR makes a directory (RFC 1813 §3.3.9).

use xdr::{Decode, Encode};

use super::create::CreateOk;
use super::{DirOp, PROGRAM, Res, Sattr, VERSION, WccData};
use crate::Operation;

/// What MKDIR needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct MkdirArgs<'a> {
    /// Where to make it.
    pub place: DirOp<'a>,
    /// Its first attributes.
    pub attributes: Sattr,
}

/// MKDIR makes a directory.
#[derive(Debug, Clone, Copy)]
pub struct Mkdir;

impl Operation for Mkdir {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 9;
    const NAME: &'static str = "MKDIR";
    type Arguments<'a> = MkdirArgs<'a>;
    type Reply<'a> = Res<CreateOk, WccData>;
}
