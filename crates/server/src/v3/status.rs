//! The status of NFSv3 for each fault (RFC 1813 §2.6).

use proto::nfs3::Status;
use vfs::Error;

use crate::fault::Fault;
use crate::handle::HandleError;

/// The status for `fault`. [`Fault::Defer`] is handled before; it would be JUKEBOX.
pub(super) fn of(fault: &Fault) -> Status {
    match fault {
        Fault::Defer | Fault::Recalling => Status::Jukebox,
        Fault::File(error) => of_file_system(error),
        Fault::Handle(HandleError::Malformed) => Status::BadHandle,
        Fault::Handle(HandleError::Unknown) => Status::Stale,
        Fault::NotExported => Status::Acces,
        Fault::NotSync => Status::NotSync,
        Fault::TooSmall => Status::TooSmall,
        Fault::BadType => Status::BadType,
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
        Error::Stale => Status::Stale,
        Error::BadHandle => Status::BadHandle,
        Error::BadCookie => Status::BadCookie,
        Error::NotSupported => Status::NotSupp,
        Error::Busy | Error::WouldBlock | Error::TryLater(_) => Status::Jukebox,
        Error::NoLocks | Error::Io(_) => Status::Io,
    }
}
