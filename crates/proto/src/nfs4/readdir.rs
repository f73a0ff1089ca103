//! READDIR lists a directory (RFC 7530 §16.24, RFC 8881 §18.23).

use xdr::{Decode, Encode};

use super::{Bitmap, Component, CompoundOperation, Fattr, MAX_DIR_ENTRIES, OpNumber, Res, Verifier};

/// What READDIR needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirArgs {
    /// The cookie of the last entry that is there already, or 0.
    pub cookie: u64,
    /// What came with that cookie, or zeros.
    pub verifier: Verifier,
    /// The most bytes of names and cookies: a hint.
    pub dir_count: u32,
    /// The most bytes of the results.
    pub max_count: u32,
    /// Which attributes of each entry are wanted.
    pub request: Bitmap,
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

/// What goes before the entries, so that a server can list right behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ReaddirHead {
    /// Goes with the cookies.
    pub verifier: Verifier,
}

/// One name in a directory (`entry4`). A server that writes entry by entry puts a true boolean before each, and a false one
/// behind the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DirEntry<'a> {
    /// Where to go on after it.
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
