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

/// The result of a READ. The data shares the memory of the reply: copy it to keep it for long.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Data {
    /// The bytes: at most those requested, and fewer at the end of the file or if the server returns less.
    pub bytes: Bytes,
    /// Whether the file ends with them.
    pub is_eof: bool,
}

impl Data {
    #[doc(hidden)]
    pub fn new(bytes: Bytes, is_eof: bool) -> Data {
        Data { bytes, is_eof }
    }
}

/// The result of a read into a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadInto {
    /// How many bytes are in the buffer.
    pub count: usize,
    /// Whether the file ends with them.
    pub is_eof: bool,
}

/// A number that changes when the server may have lost unstable data (RFC 1813 §3.3.7, `writeverf3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct WriteVerifier(pub [u8; 8]);

/// The result of a WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// How many bytes were written: at least one if there were any.
    pub count: u32,
    /// How stable they are: at least as requested.
    pub stability: Stability,
    /// If it differs from COMMIT's verifier, unstable data must be written again.
    pub verifier: WriteVerifier,
}

impl Written {
    #[doc(hidden)]
    pub fn new(count: u32, stability: Stability, verifier: WriteVerifier) -> Written {
        Written { count, stability, verifier }
    }
}

/// The result of a copy by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// How many bytes were copied, possibly fewer than requested.
    pub count: u64,
    /// How stable they are.
    pub stability: Stability,
    /// If it differs from COMMIT's verifier, unstable data must be copied again.
    pub verifier: WriteVerifier,
}

impl Copied {
    #[doc(hidden)]
    pub fn new(count: u64, stability: Stability, verifier: WriteVerifier) -> Copied {
        Copied { count, stability, verifier }
    }

    /// The result of a copy that was not waited for.
    #[doc(hidden)]
    pub const NOTHING: Copied = Copied { count: 0, stability: Stability::File, verifier: WriteVerifier([0; 8]) };
}

/// What to do if the extended attribute exists or not (RFC 8276 §8.4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum XattrMode {
    /// Create or replace it.
    Either,
    /// Fail if it exists.
    Create,
    /// Fail if it does not exist.
    Replace,
}

/// A set of access rights to a file (RFC 1813 §3.3.4).
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

    /// The set with these bits of ACCESS; others are ignored.
    pub fn from_bits(bits: u32) -> Rights {
        Rights(bits & Self::ALL.0)
    }

    /// The bits of ACCESS.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Whether this set includes all of `other`.
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

/// Properties of a file system and its server (RFC 1813 §3.3.19).
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
    /// Whether PATHCONF returns the same for every file.
    pub is_homogeneous: bool,
    /// Whether times can be set.
    pub can_set_times: bool,
}

impl FsInfo {
    /// Common values, for a server of NFSv4 that reports none.
    #[doc(hidden)]
    pub const UNKNOWN: FsInfo = FsInfo {
        read_max: proto::nfs4::MAX_DATA_BYTES as u32,
        read_preferred: 0,
        write_max: proto::nfs4::MAX_DATA_BYTES as u32,
        write_preferred: 0,
        readdir_preferred: 0,
        max_file_bytes: i64::MAX.unsigned_abs(),
        time_step_ns: 1,
        has_hard_links: true,
        has_symlinks: true,
        is_homogeneous: true,
        can_set_times: true,
    };
}

/// The limits of names and links (RFC 1813 §3.3.20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathLimits {
    /// The most names that one file can have.
    pub max_links: u32,
    /// The longest name, in bytes.
    pub max_name_bytes: u32,
    /// Whether a name that is too long fails instead of being truncated.
    pub no_truncation: bool,
    /// Whether only the superuser may change owners.
    pub chown_restricted: bool,
    /// Whether names that differ only in case are the same.
    pub case_insensitive: bool,
    /// Whether names keep their case.
    pub case_preserving: bool,
}

/// How much a listing returns.
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
    /// The position of the listing behind this entry.
    pub cookie: u64,
    /// The file, if [`Detail::Entries`] was requested and it still existed.
    pub entry: Option<Entry>,
}

impl DirEntry {
    #[doc(hidden)]
    pub fn new(name: Box<[u8]>, fileid: u64, cookie: u64, entry: Option<Entry>) -> DirEntry {
        DirEntry { name, fileid, cookie, entry }
    }
}

/// A part of a directory from one reply.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The entries, in the server's order.
    pub entries: Vec<DirEntry>,
    /// Where the listing continues.
    pub next: DirPosition,
    /// Whether the listing ends here.
    pub is_last: bool,
}

/// The change of a directory, from the reply to an operation.
#[derive(Debug, Clone, Copy, Default)]
pub struct DirChange {
    /// Its change attribute before, if only this operation happened between it and `after`.
    pub before: Option<u64>,
    /// Its attributes after.
    pub after: Option<Attributes>,
}

/// Changes whenever the bytes of a file change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileVersion {
    /// The change attribute.
    pub change: u64,
    /// When the bytes were last changed.
    pub modified: Timestamp,
    /// The length in bytes.
    pub size_bytes: u64,
}

impl FileVersion {
    /// The version that these attributes are of.
    pub fn of(attributes: &Attributes) -> FileVersion {
        let Attributes { change, modified, size_bytes, .. } = *attributes;
        FileVersion { change, modified, size_bytes }
    }
}

/// The change of a file's bytes, from the reply to an operation.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileChange {
    /// The version before. Other changes may have happened between it and `after`.
    pub before: Option<FileVersion>,
    /// Its attributes after.
    pub after: Option<Attributes>,
}

/// A position in a directory's listing: the cookie of the last entry and its verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct DirPosition {
    /// The cookie of the last entry; 0 at the beginning.
    pub cookie: u64,
    /// The verifier of that reply.
    pub verifier: [u8; 8],
}

/// The kinds of files that MKNOD makes.
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
