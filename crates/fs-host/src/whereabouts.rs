//! Where a directory is in its storage, whatever symbolic links and mounts lead to it: so that a state directory is
//! found inside of an export also when their paths have nothing in common.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

use crate::mounts::{Mount, mounts};

/// A place in some storage.
#[derive(Debug, PartialEq, Eq)]
struct StoragePath {
    /// The storage's device number, as the kernel writes it.
    device: Vec<u8>,
    /// The path there.
    path: PathBuf,
}

/// Whether `inner` is `outer` or something below it that no other mount hides. Neither need exist.
///
/// # Errors
/// What the system says to a look at the directories or at the table of mounts.
pub fn is_inside(inner: &Path, outer: &Path) -> io::Result<bool> {
    let mounts = mounts()?;
    let (inner, outer) = (resolve(inner, &mounts)?, resolve(outer, &mounts)?);
    Ok(inner.device == outer.device && inner.path.starts_with(&outer.path))
}

/// The place of a directory, which will be where its path leads if it does not exist yet. Where the kernel does not say
/// which mount leads to a path, that is taken for the place itself.
fn resolve(dir: &Path, mounts: &[Mount]) -> io::Result<StoragePath> {
    let (existing, missing) = existing_part(dir)?;
    let stat = statx(CWD, &existing, AtFlags::empty(), StatxFlags::MNT_ID)?;
    let mount = mounts.iter().find(|mount| mount.id == stat.stx_mnt_id && existing.starts_with(&mount.target));
    Ok(match mount {
        Some(mount) => {
            let below = existing.strip_prefix(&mount.target).unwrap_or(Path::new(""));
            StoragePath { device: mount.device.clone(), path: mount.root.join(below).join(missing) }
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
