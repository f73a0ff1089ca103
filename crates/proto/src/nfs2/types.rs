use xdr::{Decode, Encode};

use super::{FileHandle, MAX_NAME_BYTES};

/// Kinds of files (RFC 1094 §2.3.2, `ftype`). Sockets and FIFOs are not in the RFC, but servers do send them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum FileType {
    /// No file at all.
    Non = 0,
    /// A regular file.
    Regular = 1,
    /// A directory.
    Directory = 2,
    /// A block device.
    BlockDevice = 3,
    /// A character device; with [`Fattr::FIFO_DEVICE`] it is a FIFO.
    CharDevice = 4,
    /// A symbolic link.
    Symlink = 5,
    /// A socket; not in the RFC.
    Socket = 6,
    /// A FIFO; not in the RFC.
    Fifo = 8,
}

/// A point in time since 1970 (§2.3.4, `timeval`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct Time {
    /// Seconds.
    pub seconds: u32,
    /// Microseconds.
    pub microseconds: u32,
}

/// The attributes of a file (§2.3.5, `fattr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Fattr {
    /// The kind of file.
    pub file_type: FileType,
    /// The permission bits, and the kind of file as in UNIX.
    pub mode: u32,
    /// The number of names.
    pub links: u32,
    /// The owner.
    pub uid: u32,
    /// The owning group.
    pub gid: u32,
    /// The length in bytes.
    pub size: u32,
    /// The size of a block, in bytes.
    pub block_bytes: u32,
    /// The device number, with major and minor packed as on the server.
    pub device: u32,
    /// The number of blocks used; UNIX servers count 512-byte blocks.
    pub blocks: u32,
    /// The file system.
    pub fsid: u32,
    /// The file's number in it.
    pub fileid: u32,
    /// The access time.
    pub accessed: Time,
    /// The modification time of the data.
    pub modified: Time,
    /// The change time of the attributes.
    pub changed: Time,
}

impl Fattr {
    /// The device number by which servers since SunOS mark a FIFO.
    pub const FIFO_DEVICE: u32 = u32::MAX;
}

/// A name in a directory (§2.3.10, `diropargs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DirOp<'a> {
    /// The directory.
    pub dir: FileHandle,
    /// The name.
    #[xdr(max = MAX_NAME_BYTES)]
    pub name: &'a [u8],
}

/// The results of LOOKUP, CREATE and MKDIR (§2.3.11, `diropres`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct DirOpOk {
    /// The file.
    pub file: FileHandle,
    /// Its attributes.
    pub attributes: Fattr,
}
