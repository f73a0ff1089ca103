//! WRITE writes to a file and flushes the data before the reply (RFC 1094 §2.2.9).

use xdr::{Decode, Encode};

use super::{Fattr, FileHandle, MAX_DATA_BYTES, PROGRAM, Res, VERSION};
use crate::Operation;

/// The arguments of WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteArgs<'a> {
    /// The file.
    pub file: FileHandle,
    /// Unused.
    pub begin_offset: u32,
    /// The offset, in bytes.
    pub offset: u32,
    /// Unused.
    pub total_count: u32,
    /// The bytes.
    #[xdr(max = MAX_DATA_BYTES)]
    pub data: &'a [u8],
}

/// WRITE writes to a file and flushes the data before the reply.
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
