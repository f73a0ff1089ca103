//! WRITE_SAME writes a repeated pattern (RFC 7862 §15.12).

use xdr::{Decode, Encode};

use super::{CompoundOperation, MAX_DATA_BYTES, OpNumber, Res, StableHow, Stateid, WriteResponse};

/// The arguments of WRITE_SAME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct WriteSameArgs<'a> {
    /// The stateid of an open, of locks or of a delegation.
    pub stateid: Stateid,
    /// The requested stability.
    pub stable: StableHow,
    /// The pattern to write.
    pub block: AppDataBlock<'a>,
}

/// A pattern in blocks (RFC 7862 §8.1, `app_data_block4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct AppDataBlock<'a> {
    /// The offset of the first block, in bytes.
    pub offset: u64,
    /// The length of a block, in bytes.
    pub block_bytes: u64,
    /// The number of blocks.
    pub blocks: u64,
    /// The offset of a block's number within it; all ones for none.
    pub number_offset: u64,
    /// The number of the first block.
    pub first_number: u32,
    /// The offset of the pattern within a block; all ones for none.
    pub pattern_offset: u64,
    /// The pattern.
    #[xdr(max = MAX_DATA_BYTES)]
    pub pattern: &'a [u8],
}

/// WRITE_SAME writes a repeated pattern.
#[derive(Debug, Clone, Copy)]
pub struct WriteSame;

impl CompoundOperation for WriteSame {
    const NUMBER: OpNumber = OpNumber::WriteSame;
    type Arguments<'a> = WriteSameArgs<'a>;
    type Reply<'a> = Res<WriteResponse>;
}
