//! READDIR lists a directory (RFC 1813 §3.3.16).

use xdr::{Decode, Encode};

use super::{CookieVerifier, FileHandle, MAX_DIR_ENTRIES, MAX_NAME_BYTES, PROGRAM, PostOpAttr, Res, VERSION};
use crate::Operation;

/// What READDIR needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirArgs {
    /// The directory.
    pub dir: FileHandle,
    /// The cookie of the last entry that is there already, or 0.
    pub cookie: u64,
    /// What came with that cookie, or zeros.
    pub verifier: CookieVerifier,
    /// The most bytes of the results.
    pub count: u32,
}

/// What READDIR tells.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirOk<'a> {
    /// What goes before the entries.
    pub head: ReaddirHead,
    /// The entries.
    #[xdr(list, max = MAX_DIR_ENTRIES)]
    pub entries: Vec<DirEntry<'a>>,
    /// Whether there are no more.
    pub eof: bool,
}

/// What goes before the entries of READDIR and READDIRPLUS, so that a server can list right behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirHead {
    /// The directory's attributes.
    pub dir_attributes: PostOpAttr,
    /// Goes with the cookies.
    pub verifier: CookieVerifier,
}

/// One name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DirEntry<'a> {
    /// The file's number.
    pub fileid: u64,
    /// The name.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
    /// Where to go on after it.
    pub cookie: u64,
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
    type Reply<'a> = Res<ReaddirOk<'a>, PostOpAttr>;
}
