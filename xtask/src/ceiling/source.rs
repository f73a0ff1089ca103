use std::fs::File;

use super::canned::Canned;
use crate::{Failure, Outcome};

/// How the data of a reply come to the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The same block of memory for all: nothing is read at all.
    Memory,
    /// Each is read from the file into memory, and all are sent at once.
    Copy,
    /// The header, and then `sendfile`, for each.
    Sendfile,
}

impl Way {
    pub const ALL: [Way; 3] = [Way::Memory, Way::Copy, Way::Sendfile];

    pub fn parse(text: &str) -> Outcome<Way> {
        let found = Way::ALL.into_iter().find(|way| way.name() == text);
        found.ok_or_else(|| Failure::Usage(format!("{text} is no way to answer")))
    }

    pub fn name(self) -> &'static str {
        match self {
            Way::Memory => "memory",
            Way::Copy => "copy",
            Way::Sendfile => "sendfile",
        }
    }
}

/// What all connections have in common.
pub(super) struct Source {
    pub(super) way: Way,
    pub(super) file: File,
    pub(super) file_bytes: u64,
    pub(super) block_bytes: u32,
    /// What is sent where the file is not read.
    pub(super) block: Vec<u8>,
    pub(super) lookup: Canned,
    pub(super) read: Canned,
    pub(super) mount: Canned,
}
