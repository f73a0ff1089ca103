//! READ reads from a file (RFC 1094 §2.2.7).

use xdr::{Decode, Encode};

use super::{Fattr, FileHandle, MAX_DATA_BYTES, PROGRAM, Res, VERSION};
use crate::Operation;

/// What READ needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadArgs {
    /// The file.
    pub file: FileHandle,
    /// Where to begin, in bytes.
    pub offset: u32,
    /// How many bytes are wanted.
    pub count: u32,
    /// Without meaning.
    pub total_count: u32,
}

/// What READ tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadOk<'a> {
    /// What goes before the data.
    pub head: ReadHead,
    /// The data: fewer bytes than wanted only at the end of the file.
    #[xdr(max = MAX_DATA_BYTES)]
    pub data: &'a [u8],
}

/// What goes before the data of a READ, so that a server can read a file right behind it.
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
