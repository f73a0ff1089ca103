//! The log of mounts on a machine without a system log: one file for all mounts of a user.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, process};

use rustix::fs::OFlags;

use crate::remote::time_text;

/// The name of the file.
const NAME: &str = "wharf-mount.log";
/// How long the file gets before it becomes the old one, which takes the place of the one before.
const MAX_BYTES: u64 = 1 << 20;

/// The path of the file: in what systemd gives, else `/var/log` for the superuser, else the user's own state directory.
/// `None` when there is no home either.
pub(super) fn path() -> Option<PathBuf> {
    let given = env::var_os("LOGS_DIRECTORY").map(PathBuf::from).filter(|path| path.is_absolute());
    let own = || match rustix::process::geteuid().is_root() {
        true => Some(PathBuf::from("/var/log")),
        false => daemon::default_state_dir(false),
    };
    given.or_else(own).map(|dir| dir.join(NAME))
}

/// Opens the file to write behind what is in it, and begins a new one when it is too long.
pub(super) fn open(path: &Path) -> io::Result<File> {
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    // Who may make links where it is may not choose what the superuser writes to.
    let flags = OFlags::NOFOLLOW.bits() as i32;
    let open = || File::options().append(true).create(true).mode(0o600).custom_flags(flags).open(path);
    let file = open()?;
    if file.metadata()?.size() < MAX_BYTES {
        return Ok(file);
    }
    fs::rename(path, path.with_extension("log.old"))?;
    open()
}

/// Adds a line with the time and this process. Every line opens the file anew: another mount may have begun a new one.
pub(super) fn write(path: &Path, line: &[u8]) -> io::Result<()> {
    let now = time_text(SystemTime::now().into());
    let mut text = format!("{now} wharf[{}]: ", process::id()).into_bytes();
    text.extend_from_slice(line);
    text.push(b'\n');
    open(path)?.write_all(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_that_is_too_long_becomes_the_old_one() {
        let dir = env::temp_dir().join(format!("wharf-mount-log-{}", process::id()));
        let path = dir.join(NAME);
        let line = vec![b'x'; 300 << 10];
        for _ in 0..9 {
            write(&path, &line).unwrap();
        }
        let length = |path: &Path| fs::metadata(path).unwrap().len();
        let (new, old) = (length(&path), length(&path.with_extension("log.old")));
        assert!(new < MAX_BYTES && old < MAX_BYTES + (301 << 10), "{new} and {old}");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2);
        fs::remove_dir_all(dir).unwrap();
    }
}
