//! READDIRPLUS lists a directory with attributes and handles (RFC 1813 §3.3.17).

use xdr::{Decode, Encode};

use super::readdir::DirEntry;
use super::readdir::ReaddirHead;
use super::{CookieVerifier, FileHandle, MAX_DIR_ENTRIES, PROGRAM, PostOpAttr, Res, VERSION};
use crate::Operation;

/// The arguments of READDIRPLUS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirplusArgs {
    /// The directory.
    pub dir: FileHandle,
    /// The cookie of the last entry that the client has, or 0.
    pub cookie: u64,
    /// The verifier of that cookie, or zeros.
    pub verifier: CookieVerifier,
    /// The most bytes of names, numbers and cookies.
    pub dir_count: u32,
    /// The most bytes of the results.
    pub max_count: u32,
}

/// The results of READDIRPLUS.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirplusOk<'a> {
    /// The part before the entries.
    pub head: ReaddirHead,
    /// The entries.
    #[xdr(list, max = MAX_DIR_ENTRIES)]
    pub entries: Vec<DirEntryPlus<'a>>,
    /// Whether the list is complete.
    pub eof: bool,
}

/// One name in a directory, with its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DirEntryPlus<'a> {
    /// The name.
    pub entry: DirEntry<'a>,
    /// The file's attributes.
    pub attributes: PostOpAttr,
    /// The file.
    pub handle: Option<FileHandle>,
}

/// READDIRPLUS lists a directory with attributes and handles.
#[derive(Debug, Clone, Copy)]
pub struct Readdirplus;

impl Operation for Readdirplus {
    const PROGRAM: u32 = PROGRAM;
    const VERSION: u32 = VERSION;
    const PROCEDURE: u32 = 17;
    const NAME: &'static str = "READDIRPLUS";
    type Arguments<'a> = ReaddirplusArgs;
    type Reply<'a> = Res<ReaddirplusOk<'a>, PostOpAttr>;
}
