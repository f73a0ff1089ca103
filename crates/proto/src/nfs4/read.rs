//! READ reads from a file (RFC 7530 §16.23, RFC 8881 §18.22).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_DATA_BYTES, OpNumber, Res, Stateid};

/// What READ needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadArgs {
    /// The open, the locks or the delegation that it is read under.
    pub stateid: Stateid,
    /// Where to begin, in bytes.
    pub offset: u64,
    /// How many bytes are wanted.
    pub count: u32,
}

/// What READ tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadOk<'a> {
    /// What goes before the data.
    pub head: ReadHead,
    /// The data.
    #[xdr(max = MAX_DATA_BYTES)]
    pub data: &'a [u8],
}

/// What goes before the data of a READ, so that a server can read a file right behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadHead {
    /// Whether the last byte of the file was among them, or the offset is beyond it.
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
