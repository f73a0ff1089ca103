use std::ops::ControlFlow;

use crate::{Entry, FileKind, Handle};

/// How much to say of each entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Names, file numbers and cookies.
    Names,
    /// Kinds too: most file systems keep them beside the names.
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
    /// Where the listing goes on after this entry: at least 1 and at most `u64::MAX - 2`, and good as long as the
    /// directory exists, whatever is added to it or removed from it meanwhile.
    pub cookie: u64,
    /// The kind of file, when [`Detail::Kinds`] or more was asked for and the file still existed when it was looked at.
    pub kind: Option<FileKind>,
    /// The file itself, when [`Detail::Entries`] was asked for and it still existed when it was looked at.
    pub entry: Option<Entry>,
}

/// How a listing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// There may be more: the consumer wanted no more, or the file system thought that enough for one call. At least one entry
    /// was given.
    Stopped,
    /// Every entry was given.
    Complete,
}

/// What takes the entries of a listing, one by one.
pub type EachEntry<'a> = &'a mut dyn FnMut(DirEntry<'_>) -> ControlFlow<()>;

/// Which part of which directory to list.
#[derive(Debug, Clone, Copy)]
pub struct ReadDir<'a> {
    /// The directory.
    pub dir: &'a Handle,
    /// The cookie of the last entry that is not wanted again, or 0.
    pub after: u64,
    /// How much to say of each entry.
    pub detail: Detail,
}
