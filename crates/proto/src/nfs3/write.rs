//! WRITE writes to a file (RFC 1813 §3.3.7).

use xdr::{Decode, Encode};

use super::{FileHandle, PROGRAM, Res, StableHow, VERSION, WccData, WriteVerifier};
use crate::MAX_ARGUMENT_BYTES;
use crate::Operation;

/// The arguments of WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteArgs<'a> {
    /// The file.
    pub file: FileHandle,
    /// The offset, in bytes.
    pub offset: u64,
    /// The number of bytes to write.
    pub count: u32,
    /// The requested stability.
    pub stable: StableHow,
    /// The bytes.
    #[xdr(max = MAX_ARGUMENT_BYTES)]
    pub data: &'a [u8],
}

/// The results of WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteOk {
    /// The file's attributes before and after.
    pub file_wcc: WccData,
    /// The number of bytes written.
    pub count: u32,
    /// The stability of the data.
    pub committed: StableHow,
    /// Changes when unstable data may have been lost.
    pub verifier: WriteVerifier,
}

/// WRITE writes to a file.
#[derive(Debug, Clone, Copy)]
pub struct Write;

impl Operation for Write {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 7;
    const NAME: &'static str = "WRITE";
    type Arguments<'a> = WriteArgs<'a>;
    type Reply<'a> = Res<WriteOk, WccData>;
}
