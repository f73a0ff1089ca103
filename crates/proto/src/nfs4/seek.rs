//! SEEK finds the next data or hole (RFC 7862 §15.11).

use xdr::{Decode, Encode};

use super::{CompoundOperation, DataContent, OpNumber, Res, Stateid};

/// What SEEK needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SeekArgs {
    /// The open, the locks or the delegation that it is done under.
    pub stateid: Stateid,
    /// Where to begin, in bytes.
    pub offset: u64,
    /// What to look for.
    pub what: DataContent,
}

/// What SEEK tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SeekOk {
    /// Whether there is none up to the end of the file.
    pub eof: bool,
    /// Where it begins, in bytes.
    pub offset: u64,
}

/// SEEK finds the next data or hole.
#[derive(Debug, Clone, Copy)]
pub struct Seek;

impl CompoundOperation for Seek {
    const NUMBER: OpNumber = OpNumber::Seek;
    type Arguments<'a> = SeekArgs;
    type Reply<'a> = Res<SeekOk>;
}
