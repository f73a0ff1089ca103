//! SETATTR sets attributes of a file (RFC 1094 §2.2.3).

use xdr::{Decode, Encode};

use super::{Fattr, FileHandle, PROGRAM, Res, Sattr, VERSION};
use crate::Operation;

/// The arguments of SETATTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetattrArgs {
    /// The file.
    pub file: FileHandle,
    /// The attributes to set.
    pub attributes: Sattr,
}

/// SETATTR sets attributes of a file.
#[derive(Debug, Clone, Copy)]
pub struct Setattr;

impl Operation for Setattr {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 2;
    const NAME: &'static str = "SETATTR";
    type Arguments<'a> = SetattrArgs;
    type Reply<'a> = Res<Fattr>;
}
