//! CLONE shares a range between two files (RFC 7862 §15.13).

use xdr::{Decode, Encode};

use super::{CompoundOperation, OpNumber, Res, Stateid};

/// What CLONE needs: the current file shares a range of the saved one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct CloneArgs {
    /// What the source is read under.
    pub source_stateid: Stateid,
    /// What the destination is written under.
    pub destination_stateid: Stateid,
    /// Where the range begins in the source, in bytes.
    pub source_offset: u64,
    /// Where it begins in the destination, in bytes.
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
