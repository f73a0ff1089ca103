//! ACCESS returns what the caller may do with a file (RFC 1813 §3.3.4).

use xdr::{Decode, Encode};

use super::{FileHandle, PROGRAM, PostOpAttr, Res, VERSION};
use crate::Operation;

/// The arguments of ACCESS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct AccessArgs {
    /// The file.
    pub object: FileHandle,
    /// The requested accesses: a set of the bits below.
    pub access: u32,
}

/// The results of ACCESS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct AccessOk {
    /// The file's attributes.
    pub attributes: PostOpAttr,
    /// The granted accesses.
    pub access: u32,
}

/// Read data from a file or list a directory.
pub const ACCESS_READ: u32 = 0x01;
/// Look up a name in a directory.
pub const ACCESS_LOOKUP: u32 = 0x02;
/// Rewrite data of a file or change entries of a directory.
pub const ACCESS_MODIFY: u32 = 0x04;
/// Write new data or add entries.
pub const ACCESS_EXTEND: u32 = 0x08;
/// Delete an entry of a directory.
pub const ACCESS_DELETE: u32 = 0x10;
/// Execute a file.
pub const ACCESS_EXECUTE: u32 = 0x20;

/// ACCESS returns what the caller may do with a file.
#[derive(Debug, Clone, Copy)]
pub struct Access;

impl Operation for Access {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 4;
    const NAME: &'static str = "ACCESS";
    type Arguments<'a> = AccessArgs;
    type Reply<'a> = Res<AccessOk, PostOpAttr>;
}
