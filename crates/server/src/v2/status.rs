//! The status of NFSv2 for each fault (RFC 1094 §2.3.1).
//!
//! Where the RFC has no number, UNIX's is used, as clients expect: EXDEV, EINVAL, EMLINK and EOPNOTSUPP. There is none
//! for "later", which becomes IO.

use proto::nfs2::Status;
use vfs::Error;

use crate::fault::Fault;

/// The status for `fault`. [`Fault::Defer`] and [`Fault::Recalling`] are handled before.
pub(super) fn of(fault: &Fault) -> Status {
    match fault {
        Fault::File(error) => of_file_system(error),
        Fault::Handle(_) => Status::Stale,
        Fault::NotExported => Status::Acces,
        Fault::TooSmall | Fault::BadType => Status::Inval,
        Fault::Defer | Fault::Recalling | Fault::NotSync => Status::Io,
    }
}

fn of_file_system(error: &Error) -> Status {
    match error {
        Error::NotPermitted => Status::Perm,
        Error::AccessDenied | Error::Elsewhere(_) => Status::Acces,
        Error::NoEntry => Status::NoEnt,
        Error::Exists => Status::Exist,
        Error::CrossDevice => Status::XDev,
        Error::NoDevice => Status::NoDev,
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
        Error::Stale | Error::BadHandle => Status::Stale,
        Error::NotSupported => Status::OpNotSupp,
        Error::BadCookie | Error::NoLocks | Error::Busy | Error::WouldBlock | Error::TryLater(_) | Error::Io(_) => {
            Status::Io
        }
    }
}
