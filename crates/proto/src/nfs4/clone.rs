//! CLONE shares a range between two files (RFC 7862 §15.13).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// The arguments of CLONE: the current file shares a range of the saved one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CloneArgs {
    /// The stateid to read the source under.
    pub source_stateid: Stateid,
    /// The stateid to write the destination under.
    pub destination_stateid: Stateid,
    /// The offset in the source, in bytes.
    pub source_offset: u64,
    /// The offset in the destination, in bytes.
    pub destination_offset: u64,
    /// Its length in bytes, or 0 for everything up to the end of the source.
    pub count: u64,
}

/// CLONE shares a range between two files.
#[derive(Debug, Clone, Copy)]
pub struct Clone;

impl CompoundOperation for Clone {
    const NUMBER: OpNumber = OpNumber::Clone;
    type Arguments<'a> = CloneArgs;
    type Reply<'a> = Res<()>;
}
