use std::ops::Range;

use super::ids::BlockId;

use bytes::Bytes;
use vfs::Stability;

/// Adjacent changes that one WRITE carries. The data is a copy, because the block may be changed again meanwhile.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) pieces: Vec<Piece>,
    pub(super) offset_bytes: u64,
    pub(super) data: Bytes,
    pub(super) stability: Stability,
}

/// A part of a block.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub(super) slot: BlockId,
    pub(super) index: u64,
    pub(super) part: Range<u32>,
}
