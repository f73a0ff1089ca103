//! The table of mounts that the kernel shows to this thread (proc_pid_mountinfo(5)).

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

const MOUNTS: &str = "/proc/thread-self/mountinfo";

/// What stands between the mount's own words and those of its file system.
const SEPARATOR: &[u8] = b"-";

/// One mount.
#[derive(Debug)]
pub struct Mount {
    pub(crate) id: u64,
    /// The storage's device number, as the kernel writes it.
    pub(crate) device: Vec<u8>,
    /// Which directory of the storage is mounted.
    pub(crate) root: PathBuf,
    /// Where it is mounted.
    pub target: PathBuf,
    /// What the kernel calls the file system.
    pub file_system: String,
    /// What is mounted: a device, a URL.
    pub source: OsString,
    /// The options of the mount, then those of its file system.
    options: Vec<Vec<u8>>,
}

/// All mounts, in the order in which they were made: of several on one directory, the last is visible.
///
/// # Errors
/// When the table cannot be read.
pub fn mounts() -> io::Result<Vec<Mount>> {
    Ok(mounts_in(&fs::read(MOUNTS)?))
}

/// The mounts of a table in the format of proc_pid_mountinfo(5), but for lines that are malformed.
pub fn mounts_in(table: &[u8]) -> Vec<Mount> {
    table.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect()
}

impl Mount {
    /// The mount of this number; `None` if it is not shown, as in a chroot.
    pub(crate) fn of(id: u64) -> Option<Mount> {
        mounts().ok()?.into_iter().find(|mount| mount.id == id)
    }

    /// The mount that leads to an existing file.
    ///
    /// # Errors
    /// What the system says to a look at the path.
    pub(crate) fn at(path: &Path) -> io::Result<Option<Mount>> {
        Ok(Mount::of(statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID)?.stx_mnt_id))
    }

    /// Whether it has an option, such as `nobarrier` or `barrier=0`.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|found| found == option.as_bytes())
    }

    /// The path in an option, such as `upperdir`.
    pub(crate) fn path(&self, option: &str) -> Option<PathBuf> {
        let value = |found: &Vec<u8>| Some(found.strip_prefix(option.as_bytes())?.strip_prefix(b"=")?.to_vec());
        self.options.iter().find_map(value).map(|path| unescape(&path).into())
    }

    /// Reads `36 35 98:0 /root /target rw … - ext4 /dev/sda1 rw,…`.
    fn parse(line: &[u8]) -> Option<Mount> {
        let mut words = line.split(|byte| *byte == b' ');
        let id = str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let device = words.nth(1)?.to_vec();
        let (root, target) = (unescape(words.next()?).into(), unescape(words.next()?).into());
        let own = words.next()?;
        let mut words = words.skip_while(|word| *word != SEPARATOR).skip(1);
        let file_system = str::from_utf8(words.next()?).ok()?.to_owned();
        let source = unescape(words.next()?);
        let shared = words.next().unwrap_or_default();
        let options = [own, shared].into_iter().flat_map(|list| list.split(|byte| *byte == b','));
        Some(Mount { id, device, root, target, file_system, source, options: options.map(<[u8]>::to_vec).collect() })
    }
}

/// Spaces, tabs, newlines, backslashes and, in options, commas stand as octal numbers of three digits behind a
/// backslash.
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

    const LINE: &[u8] =
        b"22 21 8:1 /var/my\\040lib /mnt/b rw,noatime shared:1 - overlay none rw,upperdir=/a\\054b,volatile";

    #[test]
    fn line_says_what_is_mounted_where_and_how() {
        let mount = Mount::parse(LINE).unwrap();
        assert_eq!((mount.id, &mount.device[..], &mount.file_system[..]), (22, &b"8:1"[..], "overlay"));
        assert_eq!((&*mount.root, &*mount.target), (Path::new("/var/my lib"), Path::new("/mnt/b")));
        assert!(mount.has("noatime") && mount.has("volatile") && !mount.has("upperdir"));
        assert_eq!(mount.path("upperdir").unwrap(), Path::new("/a,b"));
        assert_eq!(mount.path("volatile"), None);
    }
}
