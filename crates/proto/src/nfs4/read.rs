//! READ reads from a file (RFC 7530 §16.23, RFC 8881 §18.22).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_DATA_BYTES, OpNumber, Res, Stateid};

/// The arguments of READ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadArgs {
    /// The stateid of an open, of locks or of a delegation.
    pub stateid: Stateid,
    /// The offset, in bytes.
    pub offset: u64,
    /// The number of bytes to read.
    pub count: u32,
}

/// The results of READ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadOk<'a> {
    /// The part before the data.
    pub head: ReadHead,
    /// The data.
    #[xdr(max = MAX_DATA_BYTES)]
    pub data: &'a [u8],
}

/// The part of a READ reply before the data, so that a server can read the file directly behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadHead {
    /// Whether the read reached the end of the file.
    pub eof: bool,
}

/// READ reads from a file.
#[derive(Debug, Clone, Copy)]
pub struct Read;

impl CompoundOperation for Read {
    const NUMBER: OpNumber = OpNumber::Read;
    type Arguments<'a> = ReadArgs;
    type Reply<'a> = Res<ReadOk<'a>>;
}
