//! Errors for programs without knowledge of NFS.

use std::io::{self, ErrorKind};

use crate::core::Failure;
use crate::{Error, MountRefusal, Reason, Status};

/// The kind is that of a local file system; the message and [`io::Error::get_ref`] have all else.
///
/// ```
/// async fn size(dir: &client::Dir, path: &str) -> std::io::Result<u64> {
///     match dir.metadata(path).await.map_err(std::io::Error::from) {
///         Ok(found) => Ok(found.size_bytes),
///         Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
///         Err(error) => Err(error),
///     }
/// }
/// ```
impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        io::Error::new(kind(error.reason()), error)
    }
}

fn kind(reason: &Reason) -> ErrorKind {
    match reason {
        Reason::Status(status) => kind_of_status(*status),
        Reason::Mount(refusal) => kind_of_refusal(*refusal),
        Reason::NoExport(_) => ErrorKind::NotFound,
        Reason::Rejected(rpc::Rejection::AuthError(_)) => ErrorKind::PermissionDenied,
        Reason::Rejected(_) | Reason::NotInVersion(_) | Reason::NeedsStream(_) | Reason::SessionTooSmall { .. } => {
            ErrorKind::Unsupported
        }
        Reason::NoReply(Failure::TimedOut { .. }) => ErrorKind::TimedOut,
        Reason::NoReply(Failure::Closed) => ErrorKind::NotConnected,
        Reason::NoReply(Failure::BrokenStream(_)) | Reason::NotAReply(_) | Reason::BadReply(_) | Reason::Lie(_) => {
            ErrorKind::InvalidData
        }
        Reason::Resolve(source) | Reason::Connect { source, .. } | Reason::Callbacks { source, .. } => source.kind(),
        Reason::NotRegistered { .. } | Reason::OtherServer { .. } => ErrorKind::ConnectionRefused,
        Reason::StateLost | Reason::Moved { .. } => ErrorKind::StaleNetworkFileHandle,
        Reason::Locked { .. } => ErrorKind::WouldBlock,
        Reason::Name(_) => ErrorKind::InvalidFilename,
        Reason::CopyStalled { .. } => ErrorKind::TimedOut,
        Reason::BeyondVersion { .. } => ErrorKind::FileTooLarge,
        Reason::Path(_) | Reason::TooLarge { .. } | Reason::TimeOutOfRange { .. } | Reason::Url(_) => {
            ErrorKind::InvalidInput
        }
    }
}

fn kind_of_status(status: Status) -> ErrorKind {
    match status {
        Status::NotPermitted | Status::AccessDenied | Status::OpenMode | Status::WrongSecurity => {
            ErrorKind::PermissionDenied
        }
        Status::NoEntry | Status::NoXattr => ErrorKind::NotFound,
        Status::Exists => ErrorKind::AlreadyExists,
        Status::CrossDevice => ErrorKind::CrossesDevices,
        Status::NotDirectory => ErrorKind::NotADirectory,
        Status::IsDirectory => ErrorKind::IsADirectory,
        Status::Invalid | Status::TooSmall | Status::WrongType => ErrorKind::InvalidInput,
        Status::NameTooLong | Status::BadName => ErrorKind::InvalidFilename,
        Status::FileTooBig => ErrorKind::FileTooLarge,
        Status::NoSpace => ErrorKind::StorageFull,
        Status::Quota => ErrorKind::QuotaExceeded,
        Status::ReadOnly => ErrorKind::ReadOnlyFilesystem,
        Status::TooManyLinks => ErrorKind::TooManyLinks,
        Status::NotEmpty => ErrorKind::DirectoryNotEmpty,
        Status::Stale | Status::BadHandle | Status::Moved => ErrorKind::StaleNetworkFileHandle,
        Status::Locked | Status::ShareDenied | Status::NotSync => ErrorKind::ResourceBusy,
        Status::TryLater | Status::Grace => ErrorKind::WouldBlock,
        Status::NotSupported | Status::BadType | Status::OtherMinor => ErrorKind::Unsupported,
        _ => ErrorKind::Other,
    }
}

fn kind_of_refusal(refusal: MountRefusal) -> ErrorKind {
    match refusal {
        MountRefusal::NotPermitted | MountRefusal::AccessDenied => ErrorKind::PermissionDenied,
        MountRefusal::NoEntry => ErrorKind::NotFound,
        MountRefusal::NotDirectory => ErrorKind::NotADirectory,
        MountRefusal::Invalid => ErrorKind::InvalidInput,
        MountRefusal::NameTooLong => ErrorKind::InvalidFilename,
        MountRefusal::NotSupported => ErrorKind::Unsupported,
        MountRefusal::Io | MountRefusal::ServerFault | MountRefusal::Other(_) => ErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn kind_says_what_went_wrong_and_the_rest_is_kept() {
        let timed_out = Failure::TimedOut { sends: 2, waited: Duration::from_secs(30) };
        for (reason, kind) in [
            (Reason::Status(Status::NoEntry), ErrorKind::NotFound),
            (Reason::Status(Status::NoSpace), ErrorKind::StorageFull),
            (Reason::Status(Status::ServerFault), ErrorKind::Other),
            (Reason::Mount(MountRefusal::AccessDenied), ErrorKind::PermissionDenied),
            (Reason::NoReply(timed_out), ErrorKind::TimedOut),
            (Reason::Resolve(ErrorKind::NotFound.into()), ErrorKind::NotFound),
        ] {
            let error = io::Error::from(Error::new(&"server".into(), "GETATTR", reason).about(b"a/file"));
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains("a/file"), "{error}");
            assert!(error.get_ref().is_some_and(|inner| inner.is::<Error>()));
        }
    }
}
