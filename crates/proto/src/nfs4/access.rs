//! ACCESS returns what the caller may do with a file (RFC 7530 §16.1, RFC 8881 §18.1).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res};

/// The arguments of ACCESS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct AccessArgs {
    /// The requested accesses: a set of the bits below.
    pub access: u32,
}

/// The results of ACCESS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct AccessOk {
    /// The accesses that the server can check.
    pub supported: u32,
    /// The granted ones of these.
    pub access: u32,
}

/// Read data from a file or list a directory.
pub const ACCESS_READ: u32 = 0x001;
/// Look up a name in a directory.
pub const ACCESS_LOOKUP: u32 = 0x002;
/// Rewrite data of a file or change entries of a directory.
pub const ACCESS_MODIFY: u32 = 0x004;
/// Write new data or add entries.
pub const ACCESS_EXTEND: u32 = 0x008;
/// Delete an entry of a directory.
pub const ACCESS_DELETE: u32 = 0x010;
/// Execute a file.
pub const ACCESS_EXECUTE: u32 = 0x020;
/// Read an extended attribute (RFC 8276).
pub const ACCESS_XAREAD: u32 = 0x040;
/// Write an extended attribute.
pub const ACCESS_XAWRITE: u32 = 0x080;
/// List extended attributes.
pub const ACCESS_XALIST: u32 = 0x100;

/// ACCESS returns what the caller may do with a file.
#[derive(Debug, Clone, Copy)]
pub struct Access;

impl CompoundOperation for Access {
    const NUMBER: OpNumber = OpNumber::Access;
    type Arguments<'a> = AccessArgs;
    type Reply<'a> = Res<AccessOk>;
}
