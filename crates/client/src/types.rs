use bytes::Bytes;
use vfs::{Attributes, Stability, Timestamp};

use crate::Handle;

/// A file and its attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The file.
    pub handle: Handle,
    /// Its attributes.
    pub attributes: Attributes,
}

/// What a READ brought. The data shares the memory that the reply was received into: copy it if you keep it for long.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Data {
    /// The bytes: never more than were asked for, and fewer at the end of the file or where the server likes it so.
    pub bytes: Bytes,
    /// Whether the file ends with them.
    pub is_eof: bool,
}

/// How a read into a buffer went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadInto {
    /// How many bytes were put into the buffer.
    pub count: usize,
    /// Whether the file ends with them.
    pub is_eof: bool,
}

/// A number that is another one as soon as unstable bytes may have been lost (RFC 1813 §3.3.7, `writeverf3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct WriteVerifier(pub [u8; 8]);

/// What a WRITE did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// How many of the bytes were written: at least one when there were any.
    pub count: u32,
    /// How safe they are: at least what was asked for.
    pub stability: Stability,
    /// Compare it with the one that COMMIT gives: when they differ, what was unstable must be written again.
    pub verifier: WriteVerifier,
}

/// What a copy by the server did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// How many bytes were copied, which may be fewer than were asked for.
    pub count: u64,
    /// How safe they are.
    pub stability: Stability,
    /// Compare it with the one that COMMIT gives: when they differ, what was unstable must be copied again.
    pub verifier: WriteVerifier,
}

/// What to do if there is or is not such an extended attribute (RFC 8276 §8.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum XattrMode {
    /// Make it or replace it.
    Either,
    /// Refuse if there is one.
    Create,
    /// Refuse if there is none.
    Replace,
}

/// Things that the caller may or may not do with a file, as a set (RFC 1813 §3.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rights(u32);

impl Rights {
    /// Read data, or list a directory.
    pub const READ: Rights = Rights(0x01);
    /// Look up a name in a directory.
    pub const LOOKUP: Rights = Rights(0x02);
    /// Rewrite data, or change entries of a directory.
    pub const MODIFY: Rights = Rights(0x04);
    /// Write new data, or add entries.
    pub const EXTEND: Rights = Rights(0x08);
    /// Delete an entry of a directory.
    pub const DELETE: Rights = Rights(0x10);
    /// Run a file.
    pub const EXECUTE: Rights = Rights(0x20);
    /// All of them.
    pub const ALL: Rights = Rights(0x3f);

    /// The set whose bits are those of ACCESS.
    pub fn from_bits(bits: u32) -> Rights {
        Rights(bits & Self::ALL.0)
    }

    /// The bits of ACCESS.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Whether everything in `other` is in this set.
    pub fn contains(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitAnd for Rights {
    type Output = Rights;
    fn bitand(self, other: Rights) -> Rights {
        Rights(self.0 & other.0)
    }
}

impl std::ops::BitOr for Rights {
    type Output = Rights;
    fn bitor(self, other: Rights) -> Rights {
        Rights(self.0 | other.0)
    }
}

/// What the file system and the server can do (RFC 1813 §3.3.19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FsInfo {
    /// The most bytes of a READ.
    pub read_max: u32,
    /// The best size of a READ, in bytes.
    pub read_preferred: u32,
    /// The most bytes of a WRITE.
    pub write_max: u32,
    /// The best size of a WRITE, in bytes.
    pub write_preferred: u32,
    /// The best size of a READDIR, in bytes.
    pub readdir_preferred: u32,
    /// The largest file, in bytes.
    pub max_file_bytes: u64,
    /// The smallest step of a time, in nanoseconds.
    pub time_step_ns: u64,
    /// Whether files can have several names.
    pub has_hard_links: bool,
    /// Whether there are symbolic links.
    pub has_symlinks: bool,
    /// Whether PATHCONF answers the same for every file.
    pub is_homogeneous: bool,
    /// Whether times can be set.
    pub can_set_times: bool,
}

/// The limits of names and links (RFC 1813 §3.3.20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathLimits {
    /// The most names that one file can have.
    pub max_links: u32,
    /// The longest name, in bytes.
    pub max_name_bytes: u32,
    /// Whether a name that is too long is an error and not cut.
    pub no_truncation: bool,
    /// Whether only the superuser may change owners.
    pub chown_restricted: bool,
    /// Whether names that differ only in case are the same.
    pub case_insensitive: bool,
    /// Whether names keep their case.
    pub case_preserving: bool,
}

/// How much to ask of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Detail {
    /// Names and file numbers.
    Names,
    /// Handles and attributes too.
    Entries,
}

/// One name in a directory. `.` and `..` are never among them, and every name is a [`vfs::Name`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirEntry {
    /// The name.
    pub name: Box<[u8]>,
    /// The file's number in its file system.
    pub fileid: u64,
    /// Where the server's listing goes on behind this entry.
    pub cookie: u64,
    /// The file, when [`Detail::Entries`] was asked for and it was still there when the server looked.
    pub entry: Option<Entry>,
}

/// A part of a directory, as one reply brings it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Page {
    pub(crate) entries: Vec<DirEntry>,
    /// Where the listing goes on.
    pub(crate) next: DirPosition,
    pub(crate) is_last: bool,
}

/// What the reply to a change tells of a directory that was changed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DirChange {
    /// Its change number before, if nothing but this change lies between that and the attributes.
    pub(crate) before: Option<u64>,
    /// Its attributes after.
    pub(crate) after: Option<Attributes>,
}

/// What changes whenever the bytes of a file do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileVersion {
    pub(crate) change: u64,
    pub(crate) modified: Timestamp,
    pub(crate) size_bytes: u64,
}

impl FileVersion {
    pub(crate) fn of(attributes: &Attributes) -> FileVersion {
        let Attributes { change, modified, size_bytes, .. } = *attributes;
        FileVersion { change, modified, size_bytes }
    }
}

/// What the reply to a change tells of a file whose bytes were changed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FileChange {
    /// What it was before. Other changes may lie between that and the attributes.
    pub(crate) before: Option<FileVersion>,
    /// Its attributes after.
    pub(crate) after: Option<Attributes>,
}

/// A place in a directory's listing: the cookie of the last entry and the verifier that came with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct DirPosition {
    pub(crate) cookie: u64,
    pub(crate) verifier: [u8; 8],
}

/// What MKNOD makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecialFile {
    /// A block device.
    BlockDevice(vfs::Device),
    /// A character device.
    CharDevice(vfs::Device),
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
}
