//! Where a directory is in its storage, whatever symbolic links and mounts lead to it: so that a state directory is
//! found inside of an export also when their paths have nothing in common.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

/// Where the kernel tells a process of the mounts that it sees (proc_pid_mountinfo(5)).
const MOUNTS: &str = "/proc/self/mountinfo";

/// A place in some storage.
#[derive(Debug, PartialEq, Eq)]
struct StoragePath {
    /// The storage's device number, as the kernel writes it.
    device: Vec<u8>,
    /// The path there.
    path: PathBuf,
}

/// One line of the table of mounts.
struct MountLine {
    id: u64,
    device: Vec<u8>,
    /// Which directory of the storage is mounted.
    root: PathBuf,
    /// Where it is mounted.
    target: PathBuf,
}

/// Whether `inner` is `outer` or something below it that no other mount hides. Neither need exist.
///
/// # Errors
/// What the system says to a look at the directories or at the table of mounts.
pub fn is_inside(inner: &Path, outer: &Path) -> io::Result<bool> {
    let mounts = fs::read(MOUNTS)?;
    let (inner, outer) = (resolve(inner, &mounts)?, resolve(outer, &mounts)?);
    Ok(inner.device == outer.device && inner.path.starts_with(&outer.path))
}

/// The place of a directory, which will be where its path leads if it does not exist yet. Where the kernel does not say
/// which mount leads to a path, that is taken for the place itself.
fn resolve(dir: &Path, mounts: &[u8]) -> io::Result<StoragePath> {
    let (existing, missing) = existing_part(dir)?;
    let stat = statx(CWD, &existing, AtFlags::empty(), StatxFlags::MNT_ID)?;
    let mut lines = mounts.split(|byte| *byte == b'\n').filter_map(MountLine::parse);
    let mount = lines.find(|mount| mount.id == stat.stx_mnt_id && existing.starts_with(&mount.target));
    Ok(match mount {
        Some(mount) => {
            let below = existing.strip_prefix(&mount.target).unwrap_or(Path::new(""));
            StoragePath { device: mount.device, path: mount.root.join(below).join(missing) }
        }
        None => StoragePath { device: Vec::new(), path: existing.join(missing) },
    })
}

/// The real path of the longest part of a path that exists, and what comes behind it.
pub(crate) fn existing_part(path: &Path) -> io::Result<(PathBuf, PathBuf)> {
    for existing in path.ancestors() {
        let named = if existing.as_os_str().is_empty() { Path::new(".") } else { existing };
        match named.canonicalize() {
            Ok(real) => return Ok((real, path.strip_prefix(existing).unwrap_or(Path::new("")).to_path_buf())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

impl MountLine {
    /// Reads `36 35 98:0 /root /target …`.
    fn parse(line: &[u8]) -> Option<MountLine> {
        let mut words = line.split(|byte| *byte == b' ');
        let id = str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let device = words.nth(1)?.to_vec();
        let (root, target) = (unescape(words.next()?).into(), unescape(words.next()?).into());
        Some(MountLine { id, device, root, target })
    }
}

/// Spaces, tabs, newlines and backslashes stand as octal numbers of three digits behind a backslash.
fn unescape(word: &[u8]) -> OsString {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, behind)) = rest.split_first() {
        let octal = behind.get(..3).filter(|_| *first == b'\\').map(OsStr::from_bytes).and_then(OsStr::to_str);
        let escaped = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &behind[3..] } else { behind };
    }
    OsString::from_vec(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNT_TABLE: &[u8] =
        b"21 1 8:1 / / rw - ext4 /dev/sda1 rw\n22 21 8:1 /var/my\\040lib /mnt/b rw - ext4 /dev/sda1 rw\n";

    #[test]
    fn line_says_which_directory_of_the_storage_is_mounted_where() {
        let lines: Vec<MountLine> = MOUNT_TABLE.split(|byte| *byte == b'\n').filter_map(MountLine::parse).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((lines[1].id, &lines[1].device[..]), (22, &b"8:1"[..]));
        assert_eq!((&*lines[1].root, &*lines[1].target), (Path::new("/var/my lib"), Path::new("/mnt/b")));
    }

    #[test]
    fn directory_that_does_not_exist_yet_is_where_its_path_leads() {
        let base = std::env::temp_dir().join(format!("wharf-whereabouts-{}", std::process::id()));
        fs::create_dir_all(base.join("outer")).unwrap();
        std::os::unix::fs::symlink("outer", base.join("link")).unwrap();
        assert!(is_inside(&base.join("link/not/yet"), &base.join("outer")).unwrap());
        assert!(is_inside(&base.join("outer"), &base.join("link")).unwrap());
        assert!(!is_inside(&base.join("outer-2/not/yet"), &base.join("outer")).unwrap());
        fs::remove_dir_all(base).unwrap();
    }
}
