//! The status of MNT for each fault (RFC 1813 §5.1.5), and the error numbers of versions 1 and 2.

use proto::mount::Status;
use vfs::Error;

use crate::fault::Fault;

/// The status for `fault`.
pub(super) fn of(fault: &Fault) -> Status {
    match fault {
        Fault::NotExported => Status::Acces,
        Fault::File(error) => of_file_system(error),
        Fault::Defer | Fault::Recalling | Fault::Handle(_) | Fault::NotSync | Fault::TooSmall | Fault::BadType => {
            Status::ServerFault
        }
    }
}

fn of_file_system(error: &Error) -> Status {
    match error {
        Error::NotPermitted => Status::Perm,
        Error::AccessDenied | Error::Elsewhere(_) => Status::Acces,
        Error::NoEntry | Error::Stale => Status::NoEnt,
        Error::NotDirectory => Status::NotDir,
        Error::Invalid => Status::Inval,
        Error::NameTooLong => Status::NameTooLong,
        Error::NotSupported => Status::NotSupp,
        Error::Io(_) => Status::Io,
        _ => Status::ServerFault,
    }
}

/// The error number in versions 1 and 2. They only have those of UNIX, so statuses that version 3 added become EIO.
pub(super) fn errno(status: Status) -> u32 {
    match status {
        Status::NotSupp | Status::ServerFault => Status::Io as u32,
        status => status as u32,
    }
}
