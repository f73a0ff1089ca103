//! STATFS returns the space of the file system (RFC 1094 §2.2.18).

use xdr::{Decode, Encode};

use super::{FileHandle, PROGRAM, Res, VERSION};
use crate::Operation;

/// The arguments of STATFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct StatfsArgs {
    /// A file in the file system.
    pub file: FileHandle,
}

/// The results of STATFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct StatfsOk {
    /// The best size of a READ or a WRITE, in bytes.
    pub transfer_bytes: u32,
    /// The size of a block, in bytes.
    pub block_bytes: u32,
    /// The number of blocks.
    pub total_blocks: u32,
    /// The number of free blocks.
    pub free_blocks: u32,
    /// The number of blocks that the caller may use.
    pub available_blocks: u32,
}

/// STATFS returns the space of the file system.
#[derive(Debug, Clone, Copy)]
pub struct Statfs;

impl Operation for Statfs {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 17;
    const NAME: &'static str = "STATFS";
    type Arguments<'a> = StatfsArgs;
    type Reply<'a> = Res<StatfsOk>;
}
