//! COMMIT flushes written data to stable storage (RFC 1813 §3.3.21).

use xdr::{Decode, Encode};

use super::{FileHandle, PROGRAM, Res, VERSION, WccData, WriteVerifier};
use crate::Operation;

/// The arguments of COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CommitArgs {
    /// The file.
    pub file: FileHandle,
    /// The offset of the bytes.
    pub offset: u64,
    /// Their number; 0 for all to the end.
    pub count: u32,
}

/// The results of COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CommitOk {
    /// The file's attributes before and after.
    pub file_wcc: WccData,
    /// Changes when unstable data may have been lost.
    pub verifier: WriteVerifier,
}

/// COMMIT flushes written data to stable storage.
#[derive(Debug, Clone, Copy)]
pub struct Commit;

impl Operation for Commit {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 21;
    const NAME: &'static str = "COMMIT";
    type Arguments<'a> = CommitArgs;
    type Reply<'a> = Res<CommitOk, WccData>;
}
