//! The reasons why an operation fails, and their status.

use proto::nfs4::{MinorVersion, Status};

use crate::fault::Fault;
use crate::handle::HandleError;

/// The reason why an operation fails.
#[derive(Debug)]
pub(super) enum Failure {
    /// It would block on a thread that must not.
    Defer,
    /// It failed with this status.
    Status(Status),
    /// It failed with this status and an encoded body.
    Explained(Status, Vec<u8>),
    /// The COMPOUND was answered before, with this reply (RFC 8881 §2.10.6.1).
    Replay(Vec<u8>),
}

/// The result of an operation.
pub(super) type OpResult<T> = Result<T, Failure>;

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Failure::Status(status)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Defer => Failure::Defer,
            fault => Failure::Status(status(&fault)),
        }
    }
}

impl From<vfs::Error> for Failure {
    fn from(error: vfs::Error) -> Self {
        Fault::from(error).into()
    }
}

/// Names are checked more strictly than in earlier versions (RFC 8881 §14.5).
impl From<vfs::NameError> for Failure {
    fn from(error: vfs::NameError) -> Self {
        Failure::Status(match error {
            vfs::NameError::Empty => Status::Inval,
            vfs::NameError::TooLong => Status::NameTooLong,
            vfs::NameError::BadByte => Status::BadChar,
            vfs::NameError::Dots => Status::BadName,
        })
    }
}

/// Maps `status` to a minor version: those of NFSv4.1 have older equivalents in NFSv4.0 (RFC 7530 §13, §16.16.5).
/// RESOURCE exists only in NFSv4.0; later versions get DELAY, since the shortage may be temporary (RFC 8881 §15.1.1.3).
pub(super) fn in_minor(status: Status, minor: MinorVersion) -> Status {
    match status {
        Status::Resource if minor.has_sessions() => Status::Delay,
        _ if minor.has_sessions() => status,
        // RFC 7530 §16.16.5: for special files too, since the arguments of OPEN were valid.
        Status::WrongType => Status::Symlink,
        Status::TooManyOps => Status::Resource,
        status => status,
    }
}

/// The status of NFSv4 for each fault (RFC 7530 §13, RFC 8881 §15).
fn status(fault: &Fault) -> Status {
    match fault {
        Fault::Defer | Fault::Recalling => Status::Delay,
        Fault::File(error) => of_file_system(error),
        Fault::Handle(HandleError::Malformed) => Status::BadHandle,
        Fault::Handle(HandleError::Unknown) => Status::Stale,
        Fault::NotExported => Status::Access,
        Fault::NotSync => Status::NotSame,
        Fault::TooSmall => Status::TooSmall,
        Fault::BadType => Status::BadType,
    }
}

fn of_file_system(error: &vfs::Error) -> Status {
    use vfs::Error;
    match error {
        Error::NotPermitted => Status::Perm,
        Error::AccessDenied | Error::Elsewhere(_) => Status::Access,
        Error::NoEntry => Status::NoEnt,
        Error::Exists => Status::Exist,
        Error::CrossDevice => Status::XDev,
        Error::NoDevice => Status::NxIo,
        Error::NotDirectory => Status::NotDir,
        Error::IsDirectory => Status::IsDir,
        Error::WrongKind | Error::Invalid => Status::Inval,
        Error::FileTooBig => Status::FBig,
        Error::NoSpace => Status::NoSpc,
        Error::Quota => Status::DQuot,
        Error::ReadOnly => Status::RoFs,
        Error::TooManyLinks => Status::MLink,
        Error::NameTooLong => Status::NameTooLong,
        Error::NotEmpty => Status::NotEmpty,
        Error::Stale => Status::Stale,
        Error::BadHandle => Status::BadHandle,
        Error::BadCookie => Status::BadCookie,
        Error::NotSupported => Status::NotSupp,
        Error::Busy => Status::FileOpen,
        Error::NoLocks => Status::Resource,
        Error::WouldBlock | Error::TryLater(_) => Status::Delay,
        Error::Io(_) => Status::Io,
    }
}
