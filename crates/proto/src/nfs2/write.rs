//! WRITE writes to a file, and to stable storage before it answers (RFC 1094 §2.2.9).

use xdr::{Decode, Encode};

use super::{Fattr, FileHandle, MAX_DATA_BYTES, PROGRAM, Res, VERSION};
use crate::Operation;

/// What WRITE needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteArgs<'a> {
    /// The file.
    pub file: FileHandle,
    /// Without meaning.
    pub begin_offset: u32,
    /// Where to begin, in bytes.
    pub offset: u32,
    /// Without meaning.
    pub total_count: u32,
    /// The bytes.
    #[xdr(max = MAX_DATA_BYTES)]
    pub data: &'a [u8],
}

/// WRITE writes to a file, and to stable storage before it answers.
#[derive(Debug, Clone, Copy)]
pub struct Write;

impl Operation for Write {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 8;
    const NAME: &'static str = "WRITE";
    type Arguments<'a> = WriteArgs<'a>;
    type Reply<'a> = Res<Fattr>;
}
