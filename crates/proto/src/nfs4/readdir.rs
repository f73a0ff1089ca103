//! READDIR lists a directory (RFC 7530 §16.24, RFC 8881 §18.23).

use xdr::{Decode, Encode};

use super::{Bitmap, Component, CompoundOperation, Fattr, MAX_DIR_ENTRIES, OpNumber, Res, Verifier};

/// The arguments of READDIR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirArgs {
    /// The cookie of the last entry that the client has, or 0.
    pub cookie: u64,
    /// The verifier of that cookie, or zeros.
    pub verifier: Verifier,
    /// The most bytes of names and cookies: a hint.
    pub dir_count: u32,
    /// The most bytes of the results.
    pub max_count: u32,
    /// The requested attributes of each entry.
    pub request: Bitmap,
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

/// The part before the entries, so that a server can append them one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirHead {
    /// The verifier of the cookies.
    pub verifier: Verifier,
}

/// One name in a directory (`entry4`). A server that encodes entry by entry puts `true` before each, and `false` after
/// the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DirEntry<'a> {
    /// The position to continue at after the entry.
    pub cookie: u64,
    /// The name.
    pub name: Component<'a>,
    /// The file's attributes.
    pub attributes: Fattr<'a>,
}

/// READDIR lists a directory.
#[derive(Debug, Clone, Copy)]
pub struct Readdir;

impl CompoundOperation for Readdir {
    const NUMBER: OpNumber = OpNumber::Readdir;
    type Arguments<'a> = ReaddirArgs;
    type Reply<'a> = Res<ReaddirOk<'a>>;
}
