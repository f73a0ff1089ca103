//! What to do when the system refuses a file of the server's own.

use std::io::{self, ErrorKind};

use crate::Refusal;

/// The remedy where the place is at fault.
pub const NAME_ANOTHER: &str = "name another state directory with --state-dir DIR";

/// An error with its remedy: `No space left on device (os error 28); make room on its file system`. `otherwise` is for
/// an error that does not show what to do.
#[must_use]
pub fn explained(error: &io::Error, otherwise: &str) -> String {
    match remedy(error, otherwise) {
        Some(remedy) => format!("{error}; {remedy}"),
        None => error.to_string(),
    }
}

/// What to do about an error; `None` if it says that itself.
#[must_use]
pub fn remedy<'a>(error: &io::Error, otherwise: &'a str) -> Option<&'a str> {
    if error.get_ref().is_some_and(|source| source.is::<Refusal>()) {
        return None;
    }
    Some(match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on its file system",
        ErrorKind::ReadOnlyFilesystem => {
            "its file system is read-only: if its disk has failed, repair it; then mount the file system again for writing"
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
            "repair its disk, and mount its file system again"
        }
        _ => otherwise,
    })
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn each_kind_of_error_has_one_remedy() {
        let said = |error: io::Error| explained(&error, NAME_ANOTHER);
        for (error, remedy) in [
            (Errno::NOSPC, "make room"),
            (Errno::DQUOT, "make room"),
            (Errno::ROFS, "mount the file system again for writing"),
            (Errno::IO, "repair its disk"),
            (Errno::ACCESS, "--state-dir"),
        ] {
            let said = said(error.into());
            let remedies = ["make room", "mount the file system again for writing", "repair its disk", "--state-dir"];
            assert_eq!(remedies.iter().filter(|other| said.contains(**other)).collect::<Vec<_>>(), [&remedy], "{said}");
        }
        let refusal = Refusal::Mode { mode: 0o666 };
        assert_eq!(said(refusal.into()), refusal.to_string());
    }
}
