//! A directory for files and servers of an experiment, removed at its end.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::leftovers::{Leftover, Made};

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
    /// Locked while the experiment runs.
    _lock: File,
    /// Until it is removed.
    made: Option<Made>,
}

/// What the name of every directory begins with.
const PREFIX: &str = "wharf-lab-";

impl Scratch {
    /// Makes one with room for so many bytes. Removes those that killed runs have left there.
    pub(crate) fn new(parent: &Parent, experiment: &str, needed_bytes: u64) -> Result<Scratch, ScratchError> {
        remove_left(&parent.path);
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.path.join(format!("{PREFIX}{experiment}-{number}-{}", process::id()));
        let failed = |source| ScratchError::Make { path: path.clone(), flag: parent.flag, source };
        let free_bytes = free_bytes(&parent.path).map_err(failed)?;
        if free_bytes < needed_bytes {
            let (path, flag) = (parent.path.clone(), parent.flag);
            return Err(ScratchError::Space { path, flag, free_bytes, needed_bytes });
        }
        // Servers may be other users, who have to get to what they serve; nobody else gets to what is in it by its
        // name.
        DirBuilder::new().mode(0o711).create(&path).map_err(failed)?;
        let made = Some(Made::new(Leftover::local(&path)));
        let lock = File::open(&path).and_then(|lock| lock.lock().map(|()| lock)).map_err(failed)?;
        Ok(Scratch { path, _lock: lock, made })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes directories whose process is gone and whose lock nobody holds: its number may be one of another container.
fn remove_left(parent: &Path) {
    for path in fs::read_dir(parent).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once('-')?.1.parse::<u32>().ok());
        let is_gone = pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists());
        if is_gone
            && let Ok(directory) = File::open(&path)
            && directory.try_lock().is_ok()
        {
            // Another user's cannot be removed.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is found by its name.
        if fs::remove_dir_all(&self.path).is_ok() {
            self.made.take().into_iter().for_each(Made::release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_of_a_killed_run_is_removed_by_the_next_and_one_in_use_stays() {
        let parent = std::env::temp_dir().join(format!("wharf-scratch-test-{}", process::id()));
        // No process has such a number (proc_sys_kernel(5), pid_max).
        let names = ["wharf-lab-a-4294967294", "wharf-lab-b-4294967295", "wharf-lab-c"];
        let [left, locked, other] = names.map(|name| parent.join(name));
        for path in [&left, &locked, &other] {
            fs::create_dir_all(path).unwrap();
        }
        let holder = File::open(&locked).unwrap();
        holder.lock().unwrap();
        let scratch = Scratch::new(&Parent { path: parent.clone(), flag: "--dir" }, "a", 0).unwrap();
        assert!(!left.exists() && locked.exists() && other.exists() && scratch.path().exists());
        let own = scratch.path().to_owned();
        drop(scratch);
        assert!(!own.exists());
        fs::remove_dir_all(&parent).unwrap();
    }
}
