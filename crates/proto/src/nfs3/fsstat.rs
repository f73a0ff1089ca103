//! FSSTAT returns the space of the file system (RFC 1813 §3.3.18).

use xdr::{Decode, Encode};

use super::{FileHandle, PROGRAM, PostOpAttr, Res, VERSION};
use crate::Operation;

/// The arguments of FSSTAT, FSINFO and PATHCONF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct FsArgs {
    /// A file in the file system; for FSINFO the root.
    pub object: FileHandle,
}

/// The results of FSSTAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct FsstatOk {
    /// The file's attributes.
    pub attributes: PostOpAttr,
    /// Size in bytes.
    pub total_bytes: u64,
    /// Free bytes.
    pub free_bytes: u64,
    /// Free bytes that the caller may use.
    pub available_bytes: u64,
    /// The number of file slots.
    pub total_files: u64,
    /// The number of free file slots.
    pub free_files: u64,
    /// The number of file slots that the caller may use.
    pub available_files: u64,
    /// The time for which no change is expected, in seconds.
    pub invariant_seconds: u32,
}

/// FSSTAT returns the space of the file system.
#[derive(Debug, Clone, Copy)]
pub struct Fsstat;

impl Operation for Fsstat {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 18;
    const NAME: &'static str = "FSSTAT";
    type Arguments<'a> = FsArgs;
    type Reply<'a> = Res<FsstatOk, PostOpAttr>;
}
