//! MKDIR makes a directory (RFC 1813 §3.3.9).

use xdr::{Decode, Encode};

use super::create::CreateOk;
use super::{DirOp, PROGRAM, Res, Sattr, VERSION, WccData};
use crate::Operation;

/// The arguments of MKDIR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct MkdirArgs<'a> {
    /// Its directory and name.
    pub place: DirOp<'a>,
    /// Its initial attributes.
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
