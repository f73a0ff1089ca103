//! Log records: each has what is necessary to replay a change after a power failure.
//!
//! Records name files by the handles that clients have, so that a recreated file keeps its handle. A record is in XDR
//! (RFC 4506); user data follow without a length.

mod acls;
mod file;

use std::fmt;

use buffer::Buffer;
use vfs::{Attributes, Context, FileKind, Handle, Name, NewNode, SetTime, Timestamp, XattrName};
use xdr::{Decode, Decoder, Encode, Encoder};

pub(crate) use acls::{acls_bytes, read_acls};
pub(crate) use file::FileId;

/// A record: a change, its time and export, and its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'r> {
    /// The export's number in this log.
    pub(crate) export: u32,
    /// When the change was made, in nanoseconds since 1970.
    pub(crate) at_ns: u64,
    /// The ticket by which the server recognizes the request of the change; empty if it has none.
    pub(crate) ticket: &'r [u8],
    pub(crate) change: Change<'r>,
    /// The data of a WRITE, the target of a symbolic link, the value of an extended attribute, or access lists.
    pub(crate) payload: &'r [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) enum Change<'r> {
    /// Bytes were written.
    #[xdr(case = 1)]
    Write(Write),
    /// Attributes were set; a size has a record of its own.
    #[xdr(case = 2)]
    Set(Set),
    /// A new file got a name, or CREATE found an existing file.
    #[xdr(case = 3)]
    Make(Make<'r>),
    /// A file got one more name.
    #[xdr(case = 4)]
    Link(NamedFile<'r>),
    /// A file lost a name.
    #[xdr(case = 5)]
    Remove(NamedFile<'r>),
    /// A name was moved.
    #[xdr(case = 6)]
    Move(Move<'r>),
    /// An extended attribute was set.
    #[xdr(case = 7)]
    SetXattr(Xattr<'r>),
    /// An extended attribute was removed.
    #[xdr(case = 8)]
    RemoveXattr(Xattr<'r>),
    /// Access lists were set.
    #[xdr(case = 9)]
    SetAcls(FileId),
    /// The file was flushed to storage: its earlier records before this position are obsolete.
    #[xdr(case = 10)]
    Synced(Synced),
    /// The change whose record ends at this position was not made.
    #[xdr(case = 11)]
    Cancelled(u64),
    /// The size will be set.
    #[xdr(case = 12)]
    Resize(Resize),
    /// A new file had all attributes that it was made with.
    #[xdr(case = 13)]
    Whole(FileId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Write {
    pub(crate) file: FileId,
    pub(crate) offset_bytes: u64,
    /// Whether root wrote, which keeps set-id bits.
    pub(crate) by_root: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Set {
    pub(crate) file: FileId,
    pub(crate) after: KeptAttributes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Resize {
    pub(crate) file: FileId,
    pub(crate) size_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Make<'r> {
    pub(crate) named: NamedFile<'r>,
    pub(crate) node: NodeKind,
    /// The file's number and time of birth (zero: unknown), which identify it when its handle is lost.
    pub(crate) fileid: u64,
    pub(crate) born: RecordTime,
    pub(crate) after: KeptAttributes,
}

/// What kind of file was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) enum NodeKind {
    #[xdr(case = 1)]
    Regular,
    #[xdr(case = 2)]
    Directory,
    #[xdr(case = 3)]
    BlockDevice([u32; 2]),
    #[xdr(case = 4)]
    CharDevice([u32; 2]),
    #[xdr(case = 5)]
    Symlink,
    #[xdr(case = 6)]
    Socket,
    #[xdr(case = 7)]
    Fifo,
    /// A regular file that was made with this size.
    #[xdr(case = 8)]
    RegularOfSize(u64),
}

/// A name in a directory, and the file that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct NamedFile<'r> {
    pub(crate) dir: FileId,
    #[xdr(max = Name::MAX_BYTES)]
    pub(crate) name: &'r [u8],
    pub(crate) file: FileId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Move<'r> {
    pub(crate) from: NamedFile<'r>,
    pub(crate) to_dir: FileId,
    #[xdr(max = Name::MAX_BYTES)]
    pub(crate) to_name: &'r [u8],
    /// The file that had the new name; empty if there was none.
    pub(crate) replaced: FileId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Xattr<'r> {
    pub(crate) file: FileId,
    #[xdr(max = XattrName::MAX_BYTES)]
    pub(crate) name: &'r [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Synced {
    pub(crate) file: FileId,
    pub(crate) before: u64,
}

/// The attributes of a file after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub(crate) struct KeptAttributes {
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) accessed: RecordTime,
    pub(crate) modified: RecordTime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Encode, Decode)]
pub(crate) struct RecordTime {
    seconds: i64,
    nanoseconds: u32,
}

impl Change<'_> {
    /// The file whose data, extended attributes or access lists are changed.
    pub(crate) fn file(&self) -> Option<Handle> {
        match self {
            Change::Write(Write { file, .. }) | Change::Resize(Resize { file, .. }) => Some(file.0),
            Change::SetXattr(Xattr { file, .. }) | Change::RemoveXattr(Xattr { file, .. }) => Some(file.0),
            Change::SetAcls(file) => Some(file.0),
            _ => None,
        }
    }

    /// The directories whose names are changed.
    pub(crate) fn dirs(&self) -> impl Iterator<Item = Handle> {
        let [one, other] = match self {
            Change::Make(Make { named, .. }) | Change::Link(named) | Change::Remove(named) => [Some(named.dir), None],
            Change::Move(Move { from, to_dir, .. }) => [Some(from.dir), Some(*to_dir)],
            _ => [None, None],
        };
        one.into_iter().chain(other).map(|dir| dir.0)
    }

    /// The file that gets a name by the change.
    pub(crate) fn named(&self) -> Option<Handle> {
        match self {
            Change::Make(Make { named, .. }) | Change::Link(named) | Change::Move(Move { from: named, .. }) => {
                Some(named.file.0)
            }
            _ => None,
        }
    }
}

impl<'r> Record<'r> {
    pub(crate) fn read(bytes: &'r [u8]) -> xdr::Result<Record<'r>> {
        let mut from = Decoder::new(bytes);
        let (export, at_ns) = (from.u32()?, from.u64()?);
        let ticket = from.opaque(Context::MAX_TICKET_BYTES)?;
        Ok(Record { export, at_ns, ticket, change: Change::decode(&mut from)?, payload: from.rest() })
    }

    /// The bytes in front of the payload.
    pub(crate) fn head(&self) -> Buffer {
        let mut bytes = Buffer::new();
        let mut to = Encoder::new(&mut bytes);
        to.u32(self.export);
        to.u64(self.at_ns);
        to.opaque(self.ticket);
        self.change.encode(&mut to);
        bytes
    }
}

impl KeptAttributes {
    pub(crate) fn of(attributes: &Attributes) -> KeptAttributes {
        let Attributes { mode, uid, gid, accessed, modified, .. } = *attributes;
        KeptAttributes { mode, uid, gid, accessed: accessed.into(), modified: modified.into() }
    }
}

impl From<Timestamp> for RecordTime {
    fn from(time: Timestamp) -> RecordTime {
        RecordTime { seconds: time.seconds, nanoseconds: time.nanoseconds }
    }
}

impl From<RecordTime> for Timestamp {
    fn from(time: RecordTime) -> Timestamp {
        Timestamp { seconds: time.seconds, nanoseconds: time.nanoseconds }
    }
}

impl fmt::Display for RecordTime {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}.{:09} s since 1970", self.seconds, self.nanoseconds)
    }
}

/// The time of a change, in [`Record::at_ns`], whose order with others is unknown.
pub(crate) const UNKNOWN_TIME_NS: u64 = u64::MAX;

impl RecordTime {
    /// Whether the order of this time with others is known.
    pub(crate) fn is_known(self) -> bool {
        self != RecordTime::from_ns(UNKNOWN_TIME_NS)
    }

    pub(crate) fn from_ns(at_ns: u64) -> RecordTime {
        const NS_PER_S: u64 = 1_000_000_000;
        RecordTime { seconds: (at_ns / NS_PER_S).cast_signed(), nanoseconds: (at_ns % NS_PER_S) as u32 }
    }

    pub(crate) fn to_set(self) -> SetTime {
        SetTime::To(self.into())
    }
}

impl NodeKind {
    pub(crate) fn of(node: NewNode<'_>) -> NodeKind {
        match node {
            NewNode::Directory => NodeKind::Directory,
            NewNode::Symlink(_) => NodeKind::Symlink,
            NewNode::BlockDevice(device) => NodeKind::BlockDevice([device.major, device.minor]),
            NewNode::CharDevice(device) => NodeKind::CharDevice([device.major, device.minor]),
            NewNode::Fifo => NodeKind::Fifo,
            NewNode::Socket => NodeKind::Socket,
        }
    }

    /// What it is called in messages.
    pub(crate) fn name(self) -> &'static str {
        match self.kind() {
            FileKind::Regular => "file",
            FileKind::Directory => "directory",
            FileKind::Symlink => "symbolic link",
            FileKind::BlockDevice => "block device",
            FileKind::CharDevice => "character device",
            FileKind::Fifo => "named pipe",
            FileKind::Socket => "socket",
        }
    }

    pub(crate) fn kind(self) -> FileKind {
        match self {
            NodeKind::Regular | NodeKind::RegularOfSize(_) => FileKind::Regular,
            NodeKind::Directory => FileKind::Directory,
            NodeKind::BlockDevice(_) => FileKind::BlockDevice,
            NodeKind::CharDevice(_) => FileKind::CharDevice,
            NodeKind::Symlink => FileKind::Symlink,
            NodeKind::Socket => FileKind::Socket,
            NodeKind::Fifo => FileKind::Fifo,
        }
    }
}
