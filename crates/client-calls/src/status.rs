use std::fmt;

use proto::{nfs2, nfs3, nfs4};

/// Why a server refused an operation, in any version of NFS (RFC 1813 §2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Status {
    /// Only the owner may do this.
    NotPermitted,
    /// The name does not exist.
    NoEntry,
    /// The storage failed.
    Io,
    /// The device does not exist.
    NoDevice,
    /// The permissions deny it.
    AccessDenied,
    /// The name exists already.
    Exists,
    /// The files are on different file systems.
    CrossDevice,
    /// It is not a directory.
    NotDirectory,
    /// It is a directory.
    IsDirectory,
    /// An argument is invalid.
    Invalid,
    /// The file would become too large.
    FileTooBig,
    /// The file system is full.
    NoSpace,
    /// The file system is read-only.
    ReadOnly,
    /// The file has too many names.
    TooManyLinks,
    /// The name is too long.
    NameTooLong,
    /// The directory is not empty.
    NotEmpty,
    /// The quota is used up.
    Quota,
    /// The file is gone.
    Stale,
    /// The path has a remote component.
    Remote,
    /// The handle was never valid.
    BadHandle,
    /// The guard's time differs from the file's.
    NotSync,
    /// The cookie is no longer valid.
    BadCookie,
    /// The server does not support it.
    NotSupported,
    /// A size is too small.
    TooSmall,
    /// The server failed for an unspecified reason.
    ServerFault,
    /// The server cannot make this kind of file.
    BadType,
    /// The server is busy; try again later.
    TryLater,
    /// The server has restarted and waits for clients to reclaim their state; try again later.
    Grace,
    /// Another owner's lock conflicts.
    Locked,
    /// The server has no room for another lock.
    NoLocks,
    /// Another open denies this one.
    ShareDenied,
    /// The file is not open in this mode.
    OpenMode,
    /// The name has characters that the server does not accept.
    BadName,
    /// The extended attribute does not exist.
    NoXattr,
    /// The file system is at another server; this client does not follow referrals.
    Moved,
    /// The export requires another security flavor.
    WrongSecurity,
    /// The server does not speak this minor version.
    OtherMinor,
    /// The file has the wrong kind for this.
    WrongType,
    /// Other statuses of NFSv4.
    V4(nfs4::Status),
    /// The server's write cache was lost (NFSERR_WFLUSH of NFSv2).
    WriteFlush,
    /// The server reports success where only an error is possible.
    Ok,
}

impl Status {
    fn text(self) -> &'static str {
        match self {
            Status::NotPermitted => "operation not permitted",
            Status::NoEntry => "no such file or directory",
            Status::Io => "input/output error on the server",
            Status::NoDevice => "no such device",
            Status::AccessDenied => "permission denied",
            Status::Exists => "file exists",
            Status::CrossDevice => "not on the same file system",
            Status::NotDirectory => "not a directory",
            Status::IsDirectory => "is a directory",
            Status::Invalid => "invalid argument",
            Status::FileTooBig => "file too large",
            Status::NoSpace => "no space left on the server's device",
            Status::ReadOnly => "read-only file system",
            Status::TooManyLinks => "too many links",
            Status::NameTooLong => "file name too long",
            Status::NotEmpty => "directory not empty",
            Status::Quota => "disk quota exceeded",
            Status::Stale => "stale file handle: the file is gone from the server",
            Status::Remote => "too many levels of remote in path",
            Status::BadHandle => "the server does not know the file handle",
            Status::NotSync => "the file was changed by somebody else meanwhile",
            Status::BadCookie => "the directory was changed and cannot be listed further",
            Status::NotSupported => "operation not supported by the server",
            Status::TooSmall => "buffer or request is too small",
            Status::ServerFault => "server fault",
            Status::BadType => "the server cannot make this kind of file",
            Status::TryLater => "the server asks to try again later",
            Status::WriteFlush => "the server lost its write cache",
            Status::Grace => "the server has restarted and waits for its clients to reclaim their locks",
            Status::Locked => "locked by somebody else",
            Status::NoLocks => "no locks available on the server",
            Status::ShareDenied => "opened by somebody else in a way that excludes this",
            Status::OpenMode => "not open for this",
            Status::BadName => "the server does not take the characters of the name",
            Status::NoXattr => "no such extended attribute",
            Status::Moved => "the file system is at another server, and referrals are not followed",
            Status::WrongSecurity => "the server wants another security flavour than AUTH_SYS",
            Status::OtherMinor => "the server does not speak this minor version of NFSv4",
            Status::WrongType => "wrong kind of file",
            Status::V4(_) => "the server refuses it",
            Status::Ok => "the server reports success as an error",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::V4(status) => write!(f, "{}: {status:?} (NFSv4 error {})", self.text(), *status as u32),
            other => f.write_str(other.text()),
        }
    }
}

impl From<nfs4::Status> for Status {
    fn from(status: nfs4::Status) -> Status {
        match status {
            nfs4::Status::Ok => Status::Ok,
            nfs4::Status::Perm => Status::NotPermitted,
            nfs4::Status::NoEnt => Status::NoEntry,
            nfs4::Status::Io => Status::Io,
            nfs4::Status::NxIo => Status::NoDevice,
            nfs4::Status::Access => Status::AccessDenied,
            nfs4::Status::Exist => Status::Exists,
            nfs4::Status::XDev => Status::CrossDevice,
            nfs4::Status::NotDir => Status::NotDirectory,
            nfs4::Status::IsDir => Status::IsDirectory,
            nfs4::Status::Inval => Status::Invalid,
            nfs4::Status::FBig => Status::FileTooBig,
            nfs4::Status::NoSpc => Status::NoSpace,
            nfs4::Status::RoFs => Status::ReadOnly,
            nfs4::Status::MLink => Status::TooManyLinks,
            nfs4::Status::NameTooLong => Status::NameTooLong,
            nfs4::Status::NotEmpty => Status::NotEmpty,
            nfs4::Status::DQuot => Status::Quota,
            nfs4::Status::Stale | nfs4::Status::FhExpired => Status::Stale,
            nfs4::Status::BadHandle => Status::BadHandle,
            nfs4::Status::NotSame => Status::NotSync,
            nfs4::Status::BadCookie => Status::BadCookie,
            nfs4::Status::NotSupp | nfs4::Status::AttrNotSupp | nfs4::Status::OpIllegal => Status::NotSupported,
            nfs4::Status::TooSmall => Status::TooSmall,
            nfs4::Status::ServerFault => Status::ServerFault,
            nfs4::Status::BadType => Status::BadType,
            nfs4::Status::Delay => Status::TryLater,
            other => Status::from_v4(other),
        }
    }
}

impl Status {
    /// Statuses that older versions do not have.
    fn from_v4(status: nfs4::Status) -> Status {
        match status {
            nfs4::Status::Grace => Status::Grace,
            nfs4::Status::Locked | nfs4::Status::Denied => Status::Locked,
            nfs4::Status::ShareDenied => Status::ShareDenied,
            nfs4::Status::OpenMode => Status::OpenMode,
            nfs4::Status::BadName | nfs4::Status::BadChar => Status::BadName,
            nfs4::Status::NoXattr => Status::NoXattr,
            nfs4::Status::Moved => Status::Moved,
            nfs4::Status::WrongSec => Status::WrongSecurity,
            nfs4::Status::MinorVersMismatch => Status::OtherMinor,
            nfs4::Status::WrongType => Status::WrongType,
            other => Status::V4(other),
        }
    }
}

impl From<nfs3::Status> for Status {
    fn from(status: nfs3::Status) -> Status {
        match status {
            nfs3::Status::Ok => Status::Ok,
            nfs3::Status::Perm => Status::NotPermitted,
            nfs3::Status::NoEnt => Status::NoEntry,
            nfs3::Status::Io => Status::Io,
            nfs3::Status::NxIo | nfs3::Status::NoDev => Status::NoDevice,
            nfs3::Status::Acces => Status::AccessDenied,
            nfs3::Status::Exist => Status::Exists,
            nfs3::Status::XDev => Status::CrossDevice,
            nfs3::Status::NotDir => Status::NotDirectory,
            nfs3::Status::IsDir => Status::IsDirectory,
            nfs3::Status::Inval => Status::Invalid,
            nfs3::Status::FBig => Status::FileTooBig,
            nfs3::Status::NoSpc => Status::NoSpace,
            nfs3::Status::RoFs => Status::ReadOnly,
            nfs3::Status::MLink => Status::TooManyLinks,
            nfs3::Status::NameTooLong => Status::NameTooLong,
            nfs3::Status::NotEmpty => Status::NotEmpty,
            nfs3::Status::DQuot => Status::Quota,
            nfs3::Status::Stale => Status::Stale,
            nfs3::Status::Remote => Status::Remote,
            nfs3::Status::BadHandle => Status::BadHandle,
            nfs3::Status::NotSync => Status::NotSync,
            nfs3::Status::BadCookie => Status::BadCookie,
            nfs3::Status::NotSupp => Status::NotSupported,
            nfs3::Status::TooSmall => Status::TooSmall,
            nfs3::Status::ServerFault => Status::ServerFault,
            nfs3::Status::BadType => Status::BadType,
            nfs3::Status::Jukebox => Status::TryLater,
        }
    }
}

impl From<nfs2::Status> for Status {
    fn from(status: nfs2::Status) -> Status {
        match status {
            nfs2::Status::Ok => Status::Ok,
            nfs2::Status::Perm => Status::NotPermitted,
            nfs2::Status::NoEnt => Status::NoEntry,
            nfs2::Status::Io => Status::Io,
            nfs2::Status::NxIo | nfs2::Status::NoDev => Status::NoDevice,
            nfs2::Status::Acces => Status::AccessDenied,
            nfs2::Status::Exist => Status::Exists,
            nfs2::Status::XDev => Status::CrossDevice,
            nfs2::Status::NotDir => Status::NotDirectory,
            nfs2::Status::IsDir => Status::IsDirectory,
            nfs2::Status::Inval => Status::Invalid,
            nfs2::Status::FBig => Status::FileTooBig,
            nfs2::Status::NoSpc => Status::NoSpace,
            nfs2::Status::RoFs => Status::ReadOnly,
            nfs2::Status::MLink => Status::TooManyLinks,
            nfs2::Status::OpNotSupp => Status::NotSupported,
            nfs2::Status::NameTooLong => Status::NameTooLong,
            nfs2::Status::NotEmpty => Status::NotEmpty,
            nfs2::Status::DQuot => Status::Quota,
            nfs2::Status::Stale => Status::Stale,
            nfs2::Status::Remote => Status::Remote,
            nfs2::Status::WFlush => Status::WriteFlush,
        }
    }
}
