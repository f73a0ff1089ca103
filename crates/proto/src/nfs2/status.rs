use xdr::{Decode, Encode};

use crate::StatusCode;

/// The status of a call (RFC 1094 §2.3.1, `stat`). Some numbers are not in the RFC, but servers send them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// Only the owner may do it.
    Perm = 1,
    /// The name does not exist.
    NoEnt = 2,
    /// The storage failed.
    Io = 5,
    /// There is no such device.
    NxIo = 6,
    /// The permissions do not allow it.
    Acces = 13,
    /// The name already exists.
    Exist = 17,
    /// The names are on different file systems; not in the RFC.
    XDev = 18,
    /// There is no such device.
    NoDev = 19,
    /// It is not a directory.
    NotDir = 20,
    /// It is a directory.
    IsDir = 21,
    /// An argument is invalid; not in the RFC.
    Inval = 22,
    /// The file would be too large.
    FBig = 27,
    /// The file system is full.
    NoSpc = 28,
    /// The file system is read-only.
    RoFs = 30,
    /// The file has too many names; not in the RFC.
    MLink = 31,
    /// The server does not support it; not in the RFC.
    OpNotSupp = 45,
    /// The name is too long.
    NameTooLong = 63,
    /// The directory is not empty.
    NotEmpty = 66,
    /// The quota is exceeded.
    DQuot = 69,
    /// The file no longer exists.
    Stale = 70,
    /// The path has a remote component; not in the RFC.
    Remote = 71,
    /// The server's write cache failed.
    WFlush = 99,
}

impl StatusCode for Status {
    const OK: Status = Status::Ok;
}

/// A reply: a status, and results with success only.
pub type Res<T> = crate::Res<T, Status>;
