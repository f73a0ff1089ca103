//! READ reads from a file (RFC 1813 §3.3.6).

use xdr::{Decode, Encode};

use super::{FileHandle, MAX_DATA_BYTES, PROGRAM, PostOpAttr, Res, VERSION};
use crate::Operation;

/// What READ needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadArgs {
    /// The file.
    pub file: FileHandle,
    /// Where to begin, in bytes.
    pub offset: u64,
    /// How many bytes are wanted.
    pub count: u32,
}

/// What READ tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadOk<'a> {
    /// What goes before the data.
    pub head: ReadHead,
    /// The data: as many bytes as the head says.
    #[xdr(max = MAX_DATA_BYTES)]
    pub data: &'a [u8],
}

/// What goes before the data of a READ, so that a server can read a file right behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadHead {
    /// The file's attributes.
    pub attributes: PostOpAttr,
    /// How many bytes were read.
    pub count: u32,
    /// Whether the last byte of the file was among them, or the offset is beyond it.
    pub eof: bool,
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
    type Reply<'a> = Res<ReadOk<'a>, PostOpAttr>;
}
