//! Maps errors of the file system to the kernel's error numbers.

use rustix::io::Errno;
use vfs::Error;

pub(crate) fn errno(error: Error) -> Errno {
    match error {
        Error::NotPermitted => Errno::PERM,
        Error::AccessDenied | Error::Elsewhere(_) => Errno::ACCESS,
        Error::NoEntry => Errno::NOENT,
        Error::Exists => Errno::EXIST,
        Error::CrossDevice => Errno::XDEV,
        Error::NoDevice => Errno::NXIO,
        Error::NotDirectory => Errno::NOTDIR,
        Error::IsDirectory => Errno::ISDIR,
        Error::WrongKind | Error::Invalid | Error::BadCookie => Errno::INVAL,
        Error::FileTooBig => Errno::FBIG,
        Error::NoSpace => Errno::NOSPC,
        Error::Quota => Errno::DQUOT,
        Error::ReadOnly => Errno::ROFS,
        Error::TooManyLinks => Errno::MLINK,
        Error::NameTooLong => Errno::NAMETOOLONG,
        Error::NotEmpty => Errno::NOTEMPTY,
        Error::Busy => Errno::BUSY,
        Error::Stale | Error::BadHandle => Errno::STALE,
        Error::NotSupported => Errno::OPNOTSUPP,
        Error::NoLocks => Errno::NOLCK,
        Error::WouldBlock => Errno::AGAIN,
        Error::TryLater(source) | Error::Io(source) => named(&source),
    }
}

/// The system's own error number, if there is one. The kernel refuses numbers that system calls cannot return.
fn named(source: &std::io::Error) -> Errno {
    const LARGEST: i32 = 511;
    let number = source.raw_os_error().filter(|number| (1..=LARGEST).contains(number));
    number.map_or(Errno::IO, Errno::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_of_storage_keeps_its_number_and_one_without_is_eio() {
        assert_eq!(errno(Error::Io(std::io::Error::from_raw_os_error(110))), Errno::TIMEDOUT);
        assert_eq!(errno(Error::Io(std::io::Error::other("x"))), Errno::IO);
        assert_eq!(errno(Error::Io(std::io::Error::from_raw_os_error(100_000))), Errno::IO);
        assert_eq!(errno(Error::BadHandle), Errno::STALE);
    }
}
