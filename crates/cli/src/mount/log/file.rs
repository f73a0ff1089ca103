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
/// The size at which the file is rotated; one old file is kept.
const MAX_BYTES: u64 = 1 << 20;

/// The path of the file: in systemd's directory, else `/var/log` for root, else the user's state directory. `None` if
/// there is no home either.
pub(super) fn path() -> Option<PathBuf> {
    let given = env::var_os("LOGS_DIRECTORY").map(PathBuf::from).filter(|path| path.is_absolute());
    let own = || match rustix::process::geteuid().is_root() {
        true => Some(PathBuf::from("/var/log")),
        false => daemon::default_state_dir(false),
    };
    given.or_else(own).map(|dir| dir.join(NAME))
}

/// Opens the file for appending, and rotates it when it is too long.
pub(super) fn open(path: &Path) -> io::Result<File> {
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    // Other users' symbolic links must not redirect what root writes.
    let flags = OFlags::NOFOLLOW.bits() as i32;
    let open = || File::options().append(true).create(true).mode(0o600).custom_flags(flags).open(path);
    let file = open()?;
    if file.metadata()?.size() < MAX_BYTES {
        return Ok(file);
    }
    fs::rename(path, path.with_extension("log.old"))?;
    open()
}

/// Appends a line with the time and process ID. Opens the file each time, because another mount may have rotated it.
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
