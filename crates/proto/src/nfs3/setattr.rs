//! SETATTR sets attributes of a file (RFC 1813 §3.3.2).

use xdr::{Decode, Encode};

use super::{FileHandle, PROGRAM, Res, Sattr, Time, VERSION, WccData};
use crate::Operation;

/// The arguments of SETATTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SetattrArgs {
    /// The file.
    pub object: FileHandle,
    /// The attributes to set.
    pub attributes: Sattr,
    /// The ctime that the file must have; otherwise nothing is set and the status is NOT_SYNC.
    pub guard: Option<Time>,
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
    type Reply<'a> = Res<WccData, WccData>;
}
