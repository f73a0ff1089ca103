//! What brings a new file and its name to storage, by file system: one flush on ext4 with a journal and on XFS, two
//! elsewhere.

use std::path::Path;

/// Which files have to be flushed after one was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewNames {
    /// The directory or the file, while nothing was set since the file was made: the journal of ext4 has the name and
    /// the new inode in one transaction. Later, the file: what was set may be in a later transaction.
    Either,
    /// The file: fsync of XFS forces the log up to the file's last change, and the name is in front of that. The
    /// directory is not enough, since a file gets the access lists that it inherits in a later transaction.
    File,
    /// Both: POSIX promises no more.
    Both,
}

impl NewNames {
    /// What holds for a file system of this name, on the device of these numbers.
    pub(crate) fn of(file_system: &str, major: u32, minor: u32) -> NewNames {
        match file_system {
            "ext4" if has_journal(major, minor) => NewNames::Either,
            "xfs" => NewNames::File,
            _ => NewNames::Both,
        }
    }
}

/// Whether ext4 has a journal on this device: it can do without.
fn has_journal(major: u32, minor: u32) -> bool {
    let device = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"));
    let name = device.ok().and_then(|device| device.file_name().map(Path::new).map(Path::to_path_buf));
    name.is_some_and(|name| Path::new("/sys/fs/ext4").join(name).join("journal_task").exists())
}
