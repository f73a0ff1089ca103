//! READ reads from a file (RFC 1094 §2.2.7).

use xdr::{Decode, Encode};

use super::{Fattr, FileHandle, MAX_DATA_BYTES, PROGRAM, Res, VERSION};
use crate::Operation;

/// The arguments of READ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadArgs {
    /// The file.
    pub file: FileHandle,
    /// The offset, in bytes.
    pub offset: u32,
    /// The number of bytes to read.
    pub count: u32,
    /// Unused.
    pub total_count: u32,
}

/// The results of READ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadOk<'a> {
    /// The part before the data.
    pub head: ReadHead,
    /// The data: fewer bytes than requested only at the end of the file.
    #[xdr(max = MAX_DATA_BYTES)]
    pub data: &'a [u8],
}

/// The part of a READ reply before the data, so that a server can read the file directly behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadHead {
    /// The file's attributes.
    pub attributes: Fattr,
}

/// READ reads from a file.
#[derive(Debug, Clone, Copy)]
pub struct Read;

impl Operation for Read {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 6;
    const NAME: &'static str = "READ";
    type Arguments<'a> = ReadArgs;
    type Reply<'a> = Res<ReadOk<'a>>;
}
