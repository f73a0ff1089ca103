//! READLINK reads the target of a symbolic link (RFC 1813 §3.3.5).

use xdr::{Decode, Encode};

use super::{FileHandle, MAX_PATH_BYTES, PROGRAM, PostOpAttr, Res, VERSION};
use crate::Operation;

/// The arguments of READLINK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadlinkArgs {
    /// The symbolic link.
    pub symlink: FileHandle,
}

/// The results of READLINK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadlinkOk<'a> {
    /// The link's attributes.
    pub attributes: PostOpAttr,
    /// Its target.
    #[xdr(max = MAX_PATH_BYTES)]
    pub target: &'a [u8],
}

/// READLINK reads the target of a symbolic link.
#[derive(Debug, Clone, Copy)]
pub struct Readlink;

impl Operation for Readlink {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 5;
    const NAME: &'static str = "READLINK";
    type Arguments<'a> = ReadlinkArgs;
    type Reply<'a> = Res<ReadlinkOk<'a>, PostOpAttr>;
}
