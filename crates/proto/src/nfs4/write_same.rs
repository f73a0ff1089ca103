//! WRITE_SAME writes a pattern again and again (RFC 7862 §15.12).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_DATA_BYTES, OpNumber, Res, StableHow, Stateid, WriteResponse};

/// What WRITE_SAME needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteSameArgs<'a> {
    /// The open, the locks or the delegation that it is written under.
    pub stateid: Stateid,
    /// How safe the bytes must be when the reply is sent.
    pub stable: StableHow,
    /// What is written.
    pub block: AppDataBlock<'a>,
}

/// A pattern in blocks (RFC 7862 §8.1, `app_data_block4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct AppDataBlock<'a> {
    /// Where the first block begins, in bytes.
    pub offset: u64,
    /// The length of a block, in bytes.
    pub block_bytes: u64,
    /// The number of blocks.
    pub blocks: u64,
    /// Where in a block its number stands; all ones for nowhere.
    pub number_offset: u64,
    /// The number of the first block.
    pub first_number: u32,
    /// Where in a block the pattern stands; all ones for nowhere.
    pub pattern_offset: u64,
    /// The pattern.
    #[xdr(max = MAX_DATA_BYTES)]
    pub pattern: &'a [u8],
}

/// WRITE_SAME writes a pattern again and again.
#[derive(Debug, Clone, Copy)]
pub struct WriteSame;

impl CompoundOperation for WriteSame {
    const NUMBER: OpNumber = OpNumber::WriteSame;
    type Arguments<'a> = WriteSameArgs<'a>;
    type Reply<'a> = Res<WriteResponse>;
}
