//! Checks the directory to mount on.

use std::path::Path;
use std::{fs, io};

use rustix::io::Errno;

use crate::failure::{Failure, MountFailure};

/// The type of our mounts in the table of the kernel.
const TYPE: &str = "fuse.wharf";

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
    if is_mounted(&fs_host::mounts().unwrap_or_default(), source, &dir) {
        return Err(MountFailure::Already { origin: source.to_owned(), dir }.into());
    }
    Ok(())
}

fn is_mounted(mounts: &[fs_host::Mount], source: &str, dir: &Path) -> bool {
    // Only the last mount on a directory is visible.
    let visible = mounts.iter().rev().find(|mount| mount.target == dir);
    visible.is_some_and(|mount| mount.source == source && mount.file_system == TYPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &[u8] = b"1 0 0:1 / /mnt rw - fuse.wharf h:/a rw\n2 0 0:2 / /m\\134 rw - fuse.wharf h:/a\\040b rw\n\
        3 0 0:3 / /over rw - fuse.wharf h:/a rw\n4 0 0:4 / /over rw - tmpfs none rw\n5 0 0:5 / /nfs rw - nfs4 h:/a rw\n";

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
            assert_eq!(is_mounted(&fs_host::mounts_in(MOUNTS), source, Path::new(dir)), is_there, "{source} {dir}");
        }
    }
}
