//! GETATTR gets the attributes of a file (RFC 1094 §2.2.2).

use xdr::{Decode, Encode};

use super::{Fattr, FileHandle, PROGRAM, Res, VERSION};
use crate::Operation;

/// The arguments of GETATTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct GetattrArgs {
    /// The file.
    pub file: FileHandle,
}

/// GETATTR gets the attributes of a file.
#[derive(Debug, Clone, Copy)]
pub struct Getattr;

impl Operation for Getattr {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 1;
    const NAME: &'static str = "GETATTR";
    type Arguments<'a> = GetattrArgs;
    type Reply<'a> = Res<Fattr>;
}
