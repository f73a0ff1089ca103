//! READDIR lists a directory (RFC 1094 §2.2.17).

use xdr::{Decode, Encode};

use super::{FileHandle, MAX_DIR_ENTRIES, MAX_NAME_BYTES, PROGRAM, Res, VERSION};
use crate::Operation;

/// The arguments of READDIR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirArgs {
    /// The directory.
    pub dir: FileHandle,
    /// The cookie of the last entry that the client has, or 0.
    pub cookie: u32,
    /// The most bytes of the results.
    pub count: u32,
}

/// The results of READDIR.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirOk<'a> {
    /// The entries.
    #[xdr(list, max = MAX_DIR_ENTRIES)]
    pub entries: Vec<DirEntry<'a>>,
    /// Whether the list is complete.
    pub eof: bool,
}

/// One name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DirEntry<'a> {
    /// The file's number.
    pub fileid: u32,
    /// The name.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
    /// The position to continue at after the entry: four opaque bytes.
    pub cookie: u32,
}

/// READDIR lists a directory.
#[derive(Debug, Clone, Copy)]
pub struct Readdir;

impl Operation for Readdir {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 16;
    const NAME: &'static str = "READDIR";
    type Arguments<'a> = ReaddirArgs;
    type Reply<'a> = Res<ReaddirOk<'a>>;
}
