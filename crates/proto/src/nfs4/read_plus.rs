//! READ_PLUS reads data and holes (RFC 7862 §15.10).

use xdr::{Decode, Encode, Encoder};

use super::{CompoundOperation, DataContent, MAX_DATA_BYTES, MAX_READ_PLUS_SEGMENTS, OpNumber, Res, Stateid};

/// The arguments of READ_PLUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadPlusArgs {
    /// The stateid of an open, of locks or of a delegation.
    pub stateid: Stateid,
    /// The offset, in bytes.
    pub offset: u64,
    /// The number of bytes to read.
    pub count: u32,
}

/// The results of READ_PLUS.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReadPlusOk<'a> {
    /// Whether the read reached the end of the file.
    pub eof: bool,
    /// The segments, each beginning where the one before it ends.
    #[xdr(max = MAX_READ_PLUS_SEGMENTS)]
    pub segments: Vec<ReadPlusSegment<'a>>,
}

/// A piece of a file (`read_plus_content`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum ReadPlusSegment<'a> {
    /// Bytes.
    #[xdr(case = DataContent::Data)]
    Data {
        /// Their offset.
        offset: u64,
        /// The bytes.
        #[xdr(max = MAX_DATA_BYTES)]
        data: &'a [u8],
    },
    /// A hole.
    #[xdr(case = DataContent::Hole)]
    Hole {
        /// Its offset, in bytes.
        offset: u64,
        /// Its length in bytes.
        length: u64,
    },
}

/// The part before the segments, so that a server can append them one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadPlusHead {
    /// As in [`ReadPlusOk`].
    pub eof: bool,
    /// The number of segments.
    pub segments: u32,
}

/// The part of a data segment before its length and bytes, so that a server can read the file directly behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadPlusDataHead {
    /// The offset of the bytes.
    pub offset: u64,
}

impl Encode for ReadPlusDataHead {
    fn encode(&self, to: &mut Encoder<'_>) {
        DataContent::Data.encode(to);
        to.u64(self.offset);
    }
}

/// READ_PLUS reads data and holes.
#[derive(Debug, Clone, Copy)]
pub struct ReadPlus;

impl CompoundOperation for ReadPlus {
    const NUMBER: OpNumber = OpNumber::ReadPlus;
    type Arguments<'a> = ReadPlusArgs;
    type Reply<'a> = Res<ReadPlusOk<'a>>;
}
