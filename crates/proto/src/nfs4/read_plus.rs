//! READ_PLUS reads data and holes (RFC 7862 §15.10).

use xdr::{Decode, Encode, Encoder};

use super::{CompoundOperation, DataContent, MAX_DATA_BYTES, MAX_READ_PLUS_SEGMENTS, OpNumber, Res, Stateid};

/// What READ_PLUS needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadPlusArgs {
    /// The open, the locks or the delegation that it is read under.
    pub stateid: Stateid,
    /// Where to begin, in bytes.
    pub offset: u64,
    /// How many bytes are wanted.
    pub count: u32,
}

/// What READ_PLUS tells.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReadPlusOk<'a> {
    /// Whether the last byte of the file was among them, or the offset is beyond it.
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
        /// Where they begin.
        offset: u64,
        /// The bytes.
        #[xdr(max = MAX_DATA_BYTES)]
        data: &'a [u8],
    },
    /// A hole.
    #[xdr(case = DataContent::Hole)]
    Hole {
        /// Where it begins, in bytes.
        offset: u64,
        /// Its length in bytes.
        length: u64,
    },
}

/// What goes before the segments, so that a server can write them right behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReadPlusHead {
    /// As in [`ReadPlusOk`].
    pub eof: bool,
    /// How many segments there are.
    pub segments: u32,
}

/// What goes before the length and the bytes of a data segment, so that a server can read a file right behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadPlusDataHead {
    /// Where the bytes begin.
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
