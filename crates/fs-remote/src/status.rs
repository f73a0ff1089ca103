//! Maps errors of the client to errors of a file system.

use std::io;

use client_files::core::Failure;
use client_files::{Reason, Status};
use proto::nfs4;
use vfs::{Error, NameError};

/// The file system's error for an error of a call.
pub(super) fn neutral(error: client_files::Error) -> Error {
    match error.reason() {
        Reason::Status(status) => of_status(*status, error),
        Reason::NotInVersion(_) => Error::NotSupported,
        Reason::Locked { .. } => Error::Busy,
        Reason::BeyondVersion { .. } => Error::FileTooBig,
        Reason::Name(NameError::TooLong) => Error::NameTooLong,
        Reason::Name(_) => Error::Invalid,
        Reason::NoReply(Failure::TimedOut { .. }) => Error::Io(io::Error::new(io::ErrorKind::TimedOut, error)),
        _ => io_error(error),
    }
}

fn of_status(status: Status, error: client_files::Error) -> Error {
    match status {
        // With another security flavor the call might be allowed.
        Status::NotPermitted | Status::WrongSecurity => Error::NotPermitted,
        Status::NoEntry | Status::NoXattr => Error::NoEntry,
        Status::NoDevice => Error::NoDevice,
        Status::AccessDenied | Status::OpenMode => Error::AccessDenied,
        Status::Exists => Error::Exists,
        Status::CrossDevice => Error::CrossDevice,
        Status::NotDirectory => Error::NotDirectory,
        Status::IsDirectory => Error::IsDirectory,
        Status::Invalid | Status::TooSmall | Status::BadName => Error::Invalid,
        Status::FileTooBig => Error::FileTooBig,
        Status::NoSpace => Error::NoSpace,
        Status::ReadOnly => Error::ReadOnly,
        Status::TooManyLinks => Error::TooManyLinks,
        Status::NameTooLong => Error::NameTooLong,
        Status::NotEmpty => Error::NotEmpty,
        Status::Quota => Error::Quota,
        // The handle was valid when the server gave it.
        Status::Stale | Status::BadHandle => Error::Stale,
        Status::NotSync | Status::Locked | Status::ShareDenied => Error::Busy,
        Status::BadCookie => Error::BadCookie,
        Status::NoLocks => Error::NoLocks,
        Status::NotSupported | Status::BadType | Status::OtherMinor => Error::NotSupported,
        Status::TryLater | Status::Grace => Error::TryLater(io::Error::other(error)),
        Status::WrongType | Status::V4(nfs4::Status::Symlink) => Error::WrongKind,
        _ => io_error(error),
    }
}

fn io_error(error: client_files::Error) -> Error {
    Error::Io(io::Error::other(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(reason: Reason) -> Error {
        neutral(client_files::Error::new(&"server".into(), "GETATTR", reason))
    }

    #[test]
    fn what_has_no_name_keeps_what_the_client_says_of_it() {
        let error = of(Reason::Status(Status::ServerFault));
        assert!(
            matches!(&error, Error::Io(source) if source.to_string().contains("GETATTR, server server")),
            "{error}"
        );
    }

    #[test]
    fn names_and_versions_are_told_apart() {
        assert!(matches!(of(Reason::Name(NameError::TooLong)), Error::NameTooLong));
        assert!(matches!(of(Reason::Name(NameError::Dots)), Error::Invalid));
        assert!(matches!(of(Reason::NotInVersion(client_files::Version::V2)), Error::NotSupported));
        assert!(matches!(of(Reason::Status(Status::Grace)), Error::TryLater(_)));
        let beyond = Reason::BeyondVersion { offset: 1 << 40, max: u32::MAX.into() };
        assert!(matches!(of(beyond), Error::FileTooBig));
    }
}
