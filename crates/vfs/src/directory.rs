use std::ops::ControlFlow;

use crate::{Entry, FileKind, Handle};

/// How much to return for each entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Names, file numbers and cookies.
    Names,
    /// Also kinds, which most file systems store with the names.
    Kinds,
    /// Handles and attributes too.
    Entries,
}

/// One entry of a directory. `.` and `..` are never among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirEntry<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The number of the file within its file system.
    pub fileid: u64,
    /// Where the listing continues after this entry: any number but 0. It stays valid as long as the directory exists,
    /// whatever is added or removed.
    pub cookie: u64,
    /// The kind of file, with [`Detail::Kinds`] or more, if the file still existed.
    pub kind: Option<FileKind>,
    /// The file itself, with [`Detail::Entries`], if it still existed.
    pub entry: Option<Entry>,
}

/// How a listing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// There may be more entries: the consumer stopped, or the file system has a limit per call. At least one entry was
    /// returned.
    Stopped,
    /// Every entry was given.
    Complete,
}

/// Receives the entries of a listing, one by one.
pub type EachEntry<'a> = &'a mut dyn FnMut(DirEntry<'_>) -> ControlFlow<()>;

/// Which part of which directory to list.
#[derive(Debug, Clone, Copy)]
pub struct ReadDir<'a> {
    /// The directory.
    pub dir: &'a Handle,
    /// The cookie of the entry before the first wanted one, or 0.
    pub after: u64,
    /// How much to return for each entry.
    pub detail: Detail,
}
