//! READDIR lists a directory (RFC 1813 §3.3.16).

use xdr::{Decode, Encode};

use super::{CookieVerifier, FileHandle, MAX_DIR_ENTRIES, MAX_NAME_BYTES, PROGRAM, PostOpAttr, Res, VERSION};
use crate::Operation;

/// The arguments of READDIR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirArgs {
    /// The directory.
    pub dir: FileHandle,
    /// The cookie of the last entry that the client has, or 0.
    pub cookie: u64,
    /// The verifier of that cookie, or zeros.
    pub verifier: CookieVerifier,
    /// The most bytes of the results.
    pub count: u32,
}

/// The results of READDIR.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirOk<'a> {
    /// The part before the entries.
    pub head: ReaddirHead,
    /// The entries.
    #[xdr(list, max = MAX_DIR_ENTRIES)]
    pub entries: Vec<DirEntry<'a>>,
    /// Whether the list is complete.
    pub eof: bool,
}

/// The part of READDIR and READDIRPLUS replies before the entries, so that a server can append them one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirHead {
    /// The directory's attributes.
    pub dir_attributes: PostOpAttr,
    /// The verifier of the cookies.
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
    /// The position to continue at after the entry.
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
