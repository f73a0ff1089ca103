//! A directory for files and servers of an experiment, removed at its end.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;

/// Why there is no directory for an experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScratchError {
    /// It cannot be made.
    #[error("{}: {source}; choose another directory with {flag}", path.display())]
    Make {
        /// The directory.
        path: PathBuf,
        /// The flag that names its parent.
        flag: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// There is not enough room.
    #[error(
        "{} has {} MiB free, and the experiment takes {} MiB; choose another directory with {flag}, or --quick",
        path.display(), free_bytes >> 20, needed_bytes >> 20
    )]
    Space {
        /// Where.
        path: PathBuf,
        /// The flag that names it.
        flag: &'static str,
        /// How much is free.
        free_bytes: u64,
        /// How much it takes.
        needed_bytes: u64,
    },
}

/// Where an experiment makes its files: a parent directory, and the flag that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// The directory.
    pub path: PathBuf,
    /// The flag.
    pub flag: &'static str,
}

/// A directory of one experiment.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes one with room for so many bytes.
    pub(crate) fn new(parent: &Parent, experiment: &str, needed_bytes: u64) -> Result<Scratch, ScratchError> {
        let path = parent.path.join(format!("wharf-lab-{experiment}-{}", process::id()));
        let failed = |source| ScratchError::Make { path: path.clone(), flag: parent.flag, source };
        let free_bytes = free_bytes(&parent.path).map_err(failed)?;
        if free_bytes < needed_bytes {
            let (path, flag) = (parent.path.clone(), parent.flag);
            return Err(ScratchError::Space { path, flag, free_bytes, needed_bytes });
        }
        // Servers may be other users, who have to get to what they serve; nobody else gets to what is in it by its
        // name.
        DirBuilder::new().mode(0o711).create(&path).map_err(failed)?;
        Ok(Scratch { path })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is found by its name.
        let _ = fs::remove_dir_all(&self.path);
    }
}
