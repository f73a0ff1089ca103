use std::io;

use vfs::Error;

/// An error that a rule can inject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InjectedError {
    /// `io`: the storage failed (EIO).
    Io,
    /// `nospace`: the file system is full (ENOSPC).
    NoSpace,
    /// `quota`: the user's quota is used up (EDQUOT).
    Quota,
    /// `readonly`: the file system became read-only (EROFS).
    ReadOnly,
    /// `trylater`: the process has too many open files (EMFILE).
    TryLater,
    /// `denied`: the permissions refuse it (EACCES).
    AccessDenied,
    /// `notpermitted`: only the owner may (EPERM).
    NotPermitted,
    /// `stale`: the file is gone (ESTALE).
    Stale,
    /// `noentry`: the name is gone (ENOENT).
    NoEntry,
    /// `exists`: another client has created the name meanwhile (EEXIST).
    Exists,
    /// `toobig`: the file would get too large (EFBIG).
    FileTooBig,
    /// `busy`: the file is in use (EBUSY).
    Busy,
    /// `notsupported`: the file system cannot do this (EOPNOTSUPP).
    NotSupported,
}

impl InjectedError {
    /// All errors, with their names in a plan and their numbers in Linux.
    pub const ALL: [(InjectedError, &'static str, i32); 13] = [
        (InjectedError::Io, "io", 5),
        (InjectedError::NoSpace, "nospace", 28),
        (InjectedError::Quota, "quota", 122),
        (InjectedError::ReadOnly, "readonly", 30),
        (InjectedError::TryLater, "trylater", 24),
        (InjectedError::AccessDenied, "denied", 13),
        (InjectedError::NotPermitted, "notpermitted", 1),
        (InjectedError::Stale, "stale", 116),
        (InjectedError::NoEntry, "noentry", 2),
        (InjectedError::Exists, "exists", 17),
        (InjectedError::FileTooBig, "toobig", 27),
        (InjectedError::Busy, "busy", 16),
        (InjectedError::NotSupported, "notsupported", 95),
    ];

    /// The error as the operating system would have caused it.
    pub fn to_error(self) -> Error {
        let number = Self::ALL.iter().find(|(error, ..)| *error == self).map_or(5, |(_, _, number)| *number);
        io::Error::from_raw_os_error(number).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_becomes_the_one_it_is_called_after() {
        for (error, ..) in InjectedError::ALL {
            let shown = format!("{:?}", error.to_error());
            assert!(shown.starts_with(&format!("{error:?}")), "{error:?} became {shown}");
        }
    }
}
