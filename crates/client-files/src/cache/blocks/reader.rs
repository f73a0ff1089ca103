use super::ids::{BlockId, FileId};

/// A reader of a file through one open, and where it is expected to go on.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) file: FileId,
    /// Where the last read ended; `u64::MAX` before the first one.
    pub(super) next_bytes: u64,
    /// The end of the data requested ahead.
    pub(super) asked_to_bytes: u64,
    /// The read-ahead window in bytes; it doubles each time.
    pub(super) window_bytes: u64,
    /// The block read last, which is found without a search.
    pub(super) last: Option<(u64, BlockId)>,
    /// The first block of the current sequential run.
    pub(super) began_block: u64,
}

impl Reader {
    pub(super) fn new(file: FileId) -> Reader {
        Reader { file, next_bytes: u64::MAX, asked_to_bytes: 0, window_bytes: 0, last: None, began_block: 0 }
    }
}
