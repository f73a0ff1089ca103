//! FSSTAT tells how full the file system is (RFC 1813 §3.3.18).

use xdr::{Decode, Encode};

use super::{FileHandle, PROGRAM, PostOpAttr, Res, VERSION};
use crate::Operation;

/// What FSSTAT, FSINFO and PATHCONF need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct FsArgs {
    /// A file in the file system; for FSINFO the root.
    pub object: FileHandle,
}

/// What FSSTAT tells.
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
    /// How many files there can be.
    pub total_files: u64,
    /// How many more there can be.
    pub free_files: u64,
    /// How many more the caller may make.
    pub available_files: u64,
    /// For how many seconds this is not expected to change.
    pub invariant_seconds: u32,
}

/// FSSTAT tells how full the file system is.
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
