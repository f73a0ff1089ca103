//! SEEK finds the next data or hole (RFC 7862 §15.11).

use xdr::{Decode, Encode};

use super::{CompoundOperation, DataContent, OpNumber, Res, Stateid};

/// The arguments of SEEK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SeekArgs {
    /// The stateid of an open, of locks or of a delegation.
    pub stateid: Stateid,
    /// The offset, in bytes.
    pub offset: u64,
    /// What to search for.
    pub what: DataContent,
}

/// The results of SEEK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct SeekOk {
    /// Whether there is none before the end of the file.
    pub eof: bool,
    /// Its offset, in bytes.
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
