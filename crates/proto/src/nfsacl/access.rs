//! ACCESS of version 2 returns what the caller may do with a file, as that of NFSv3 does.

use xdr::{Decode, Encode};

use super::{PROGRAM, VERSION_2};
use crate::{Operation, nfs2};

/// The arguments of ACCESS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Access2Args {
    /// The file.
    pub file: nfs2::FileHandle,
    /// The requested accesses, in the bits of NFSv3.
    pub access: u32,
}

/// The results of ACCESS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Access2Ok {
    /// The file's attributes.
    pub attributes: nfs2::Fattr,
    /// The granted accesses.
    pub access: u32,
}

/// ACCESS of version 2 returns what the caller may do with a file.
#[derive(Debug, Clone, Copy)]
pub struct Access2;

impl Operation for Access2 {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION_2;
    const PROCEDURE: u32 = 4;
    const NAME: &'static str = "ACCESS";
    type Arguments<'a> = Access2Args;
    type Reply<'a> = nfs2::Res<Access2Ok>;
}
