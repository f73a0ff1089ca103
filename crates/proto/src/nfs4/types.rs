use xdr::{Decode, Encode};

use super::{MAX_NAME_BYTES, MAX_NETADDR_BYTES, MAX_NETID_BYTES, MAX_OPAQUE_BYTES, MAX_URL_BYTES};

/// Kinds of files (RFC 7530 §5.8.1.2, `nfs_ftype4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum FileType {
    /// A regular file.
    Regular = 1,
    /// A directory.
    Directory = 2,
    /// A block device.
    BlockDevice = 3,
    /// A character device.
    CharDevice = 4,
    /// A symbolic link.
    Symlink = 5,
    /// A socket.
    Socket = 6,
    /// A FIFO.
    Fifo = 7,
    /// A directory of named attributes.
    AttributeDirectory = 8,
    /// A named attribute.
    NamedAttribute = 9,
}

/// A point in time since 1970, or a span of time (`nfstime4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct Time {
    /// Seconds; negative before 1970.
    pub seconds: i64,
    /// Nanoseconds after that second; at most 999 999 999, otherwise the server answers INVAL.
    pub nanoseconds: u32,
}

/// The way to set a time (`settime4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum SetTime {
    /// To the server's time.
    #[xdr(case = 0)]
    ServerTime,
    /// To this time.
    #[xdr(case = 1)]
    ClientTime(Time),
}

/// The numbers of a device (`specdata4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct SpecData {
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

/// Identifies a file system on a server (RFC 7530 §5.8.1.9, `fsid4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct Fsid {
    /// The first half.
    pub major: u64,
    /// The second half.
    pub minor: u64,
}

/// A directory's change attribute before and after an operation (`change_info4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Encode, Decode)]
pub struct ChangeInfo {
    /// Whether no other change happened between them.
    pub atomic: bool,
    /// The one before.
    pub before: u64,
    /// The one after.
    pub after: u64,
}

/// Holes and data (RFC 7862 §15.10, `data_content4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum DataContent {
    /// Bytes that were written.
    Data = 0,
    /// Bytes that read as zeros and use no space.
    Hole = 1,
}

/// One name in a path (`component4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Component<'a>(#[xdr(max = MAX_NAME_BYTES)] pub &'a [u8]);

/// A user or a group, as `name@domain` or as a number in digits (RFC 7530 §5.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Principal<'a>(#[xdr(max = MAX_OPAQUE_BYTES)] pub &'a [u8]);

/// A server's host name, or its address in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct ServerName<'a>(#[xdr(max = MAX_URL_BYTES)] pub &'a [u8]);

/// The address of a service (RFC 1833 §2.1, RFC 5665, `netaddr4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct NetAddr<'a> {
    /// The transport: `tcp`, `tcp6` …
    #[xdr(max = MAX_NETID_BYTES)]
    pub netid: &'a [u8],
    /// The universal address in it.
    #[xdr(max = MAX_NETADDR_BYTES)]
    pub address: &'a [u8],
}

/// The location of a server (RFC 7863, `netloc4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum NetLoc<'a> {
    /// By its name.
    #[xdr(case = 1)]
    Name(ServerName<'a>),
    /// By a URL.
    #[xdr(case = 2)]
    Url(#[xdr(max = MAX_URL_BYTES)] &'a [u8]),
    /// By its address.
    #[xdr(case = 3)]
    Address(NetAddr<'a>),
}
