//! Checks the directory to mount on.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::{fs, io};

use rustix::io::Errno;

use crate::failure::{Failure, MountFailure};

/// The mounts that this process sees.
const MOUNTS: &str = "/proc/self/mounts";
/// The type of our mounts there.
const TYPE: &[u8] = b"fuse.wharf";

/// Checks that the directory exists, and that `source` is not mounted on it: the kernel would stack a second mount.
///
/// # Errors
/// The obstacle.
pub fn check(dir: &Path, source: &str) -> Result<(), Failure> {
    let failed = |error: io::Error| match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOTCONN) => MountFailure::Orphaned(dir.to_owned()).into(),
        _ => Failure::Local { path: dir.to_owned(), source: error },
    };
    let found = fs::metadata(dir).and_then(|metadata| fs::canonicalize(dir).map(|dir| (metadata, dir)));
    let (metadata, dir) = found.map_err(failed)?;
    if !metadata.is_dir() {
        return Err(MountFailure::from(mount::MountError::NotDirectory(dir)).into());
    }
    // Without a list of mounts no obstacle is known.
    if is_mounted(&fs::read(MOUNTS).unwrap_or_default(), source, &dir) {
        return Err(MountFailure::Already { origin: source.to_owned(), dir }.into());
    }
    Ok(())
}

fn is_mounted(mounts: &[u8], source: &str, dir: &Path) -> bool {
    // Only the last mount on a directory is visible.
    let mounted = mounts.split(|byte| *byte == b'\n').rev().map(fields).find(|fields| fields[1] == dir);
    mounted.is_some_and(|[origin, _, kind]| origin == source && kind.as_bytes() == TYPE)
}

/// Source, directory and type.
fn fields(line: &[u8]) -> [OsString; 3] {
    let mut fields = line.split(|byte| *byte == b' ').map(unescaped);
    std::array::from_fn(|_| fields.next().unwrap_or_default())
}

/// Decodes a field of fstab(5), in which a backslash and three octal digits are a byte.
fn unescaped(mut field: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(field.len());
    while let [first, rest @ ..] = field {
        let digits = if *first == b'\\' { rest.get(..3).and_then(|digits| str::from_utf8(digits).ok()) } else { None };
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        field = if byte.is_some() { &rest[3..] } else { rest };
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] =
        b"h:/a /mnt fuse.wharf rw 0 0\nh:/a\\040b /m\\134 fuse.wharf rw 0 0\nh:/a /over fuse.wharf rw 0 0\n\
        none /over tmpfs rw 0 0\nh:/a /nfs nfs4 rw 0 0\n";

    #[test]
    fn same_source_on_same_directory_is_seen_and_nothing_else() {
        for (source, dir, is_there) in [
            ("h:/a", "/mnt", true),
            ("h:/a b", "/m\\", true),
            ("h:/b", "/mnt", false),
            ("h:/a", "/mnt/x", false),
            ("h:/a", "/over", false),
            ("h:/a", "/nfs", false),
        ] {
            assert_eq!(is_mounted(MOUNTS, source, Path::new(dir)), is_there, "{source} {dir}");
        }
    }
}
