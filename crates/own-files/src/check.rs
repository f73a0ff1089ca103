//! Whether anybody else could change a file.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FileType, Mode, Stat, fchmod, fstat};
use rustix::process::geteuid;

use crate::AsServer;

/// The permission of the group and of all others to write.
const WRITE_BY_OTHERS: u32 = 0o022;
/// The same for a block device, whose group are administrators of disks.
const WRITE_BY_STRANGERS: u32 = 0o002;
/// The permissions of everybody but the owner.
const OTHERS: u32 = 0o077;

/// Why the server does not rely on a file or directory. No remedy removes what is there: it may be a write log or a
/// state with acknowledged changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its owner can change it.
    #[error(
        "it belongs to user {owner}, who could change what the server relies on; run the server as that user, or, if its \
         contents can be trusted, run chown {server} on it"
    )]
    Owner {
        /// The owner.
        owner: u32,
        /// The server's user.
        server: u32,
    },
    /// Other users can change it.
    #[error(
        "other users can change it (mode {mode:04o}); if its contents can be trusted, run chmod go-w on it; otherwise put \
         back what the last server left"
    )]
    Mode {
        /// Its permissions.
        mode: u32,
    },
    /// It has other names, so that somebody has linked it into place or can reach it elsewhere.
    #[error(
        "it has another name as well (a hard link), by which others may change it; remove the other name, which find \
         -samefile finds"
    )]
    Names,
    /// It is a symbolic link, which could lead to any file.
    #[error("it is a symbolic link, which the server does not follow here; put the file itself in its place")]
    Link,
    /// It is a device, a pipe or the like.
    #[error("it is not a regular file; move it elsewhere")]
    Kind,
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> io::Error {
        io::Error::new(io::ErrorKind::PermissionDenied, refusal)
    }
}

/// Checks that nobody but the server and root can change an open file or block device.
///
/// # Errors
/// A [`Refusal`], or when the file's attributes cannot be read.
pub fn check(file: impl AsFd) -> io::Result<()> {
    let stat = fstat(file)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink != 1 => Err(Refusal::Names.into()),
        FileType::RegularFile => check_owner_and_mode(&stat, WRITE_BY_OTHERS),
        FileType::BlockDevice => check_owner_and_mode(&stat, WRITE_BY_STRANGERS),
        _ => Err(Refusal::Kind.into()),
    }
}

/// Checks that nobody but the server and root can change an open directory.
pub(crate) fn check_dir(dir: impl AsFd) -> io::Result<()> {
    check_owner_and_mode(&fstat(dir)?, WRITE_BY_OTHERS)
}

/// Checks that nobody else can make a symbolic link lead elsewhere.
pub(crate) fn check_link(stat: &Stat) -> io::Result<()> {
    // A link has no permissions of its own.
    check_owner_and_mode(stat, 0)
}

fn check_owner_and_mode(stat: &Stat, writes: u32) -> io::Result<()> {
    let (owner, server) = (stat.st_uid, geteuid().as_raw());
    if owner != server && owner != 0 {
        return Err(Refusal::Owner { owner, server }.into());
    }
    let mode = stat.st_mode & 0o7777;
    if mode & writes != 0 { Err(Refusal::Mode { mode }.into()) } else { Ok(()) }
}

/// Takes other users' permissions away. Returns the earlier permissions if there were any of others.
///
/// # Errors
/// When the permissions cannot be read or changed.
pub fn make_private(file: impl AsFd) -> io::Result<Option<u32>> {
    let mode = fstat(&file)?.st_mode & 0o7777;
    if mode & OTHERS == 0 {
        return Ok(None);
    }
    let _server = AsServer::new();
    fchmod(file, Mode::from_raw_mode(mode & !OTHERS & 0o777))?;
    Ok(Some(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_remedy_removes_what_may_have_acknowledged_changes() {
        let all = [
            Refusal::Owner { owner: 1, server: 0 },
            Refusal::Mode { mode: 0o666 },
            Refusal::Names,
            Refusal::Link,
            Refusal::Kind,
        ];
        for said in all.map(|refusal| refusal.to_string()) {
            assert!(!said.contains("remove it") && !said.contains("remove this"), "{said}");
        }
    }
}
