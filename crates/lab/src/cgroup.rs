//! Groups of processes that a controller of the kernel limits (cgroups(7)).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io, process};

/// What the name of every group begins with.
const PREFIX: &str = "wharf-lab-";

/// A controller by its names in v1 and v2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    v1: &'static str,
    v2: &'static str,
}

pub(crate) const PROCESSOR: Kind = Kind { v1: "cpu", v2: "cpu" };
pub(crate) const DISK: Kind = Kind { v1: "blkio", v2: "io" };

/// Why processes cannot be limited.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The kernel has no such controller here.
    #[error("no cgroup with the controller {0} is mounted")]
    Unavailable(&'static str),
    /// A file of the controller refuses.
    #[error("the kernel's controller: {}: {source}; run as root, outside of a container", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A group of processes with limits of its own. It ends with this and the last of them.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) is_v2: bool,
    path: PathBuf,
}

impl Group {
    /// Makes a group without processes. Removes those that killed runs have left.
    ///
    /// # Errors
    /// Why there is none for this program.
    pub(crate) fn new(kind: Kind, purpose: &str) -> Result<Group, GroupError> {
        let Controller { is_v2, root } = Controller::find(kind)?;
        remove_left(&root);
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = root.join(format!("{PREFIX}{purpose}-{number}-{}", process::id()));
        fs::create_dir(&path).map_err(|source| GroupError::File { path: path.clone(), source })?;
        let group = Group { is_v2, path };
        if is_v2 {
            write(&root.join("cgroup.subtree_control"), &format!("+{}", kind.v2))?;
        }
        Ok(group)
    }

    /// Sets a limit: writes to a file of the group.
    ///
    /// # Errors
    /// When the kernel refuses that.
    pub(crate) fn set(&self, file: &str, text: &str) -> Result<(), GroupError> {
        write(&self.path.join(file), text)
    }

    /// Limits a process from now on, with all of its threads.
    ///
    /// # Errors
    /// When the kernel refuses that.
    pub(crate) fn add(&self, pid: u32) -> Result<(), GroupError> {
        self.set("cgroup.procs", &pid.to_string())
    }

    /// Moves a process of the group out of it.
    ///
    /// # Errors
    /// When the kernel refuses that.
    pub(crate) fn remove(&self, pid: u32) -> Result<(), GroupError> {
        self.set("../cgroup.procs", &pid.to_string())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // One with a process left is removed by the next run.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Where a controller is mounted.
#[derive(Debug, PartialEq, Eq)]
struct Controller {
    is_v2: bool,
    root: PathBuf,
}

impl Controller {
    fn find(kind: Kind) -> Result<Controller, GroupError> {
        let path = "/proc/self/mounts";
        let mounts = fs::read_to_string(path).map_err(|source| GroupError::File { path: path.into(), source })?;
        let found = Controller::parse(&mounts, kind);
        found.filter(|found| !found.is_v2 || found.offers(kind)).ok_or(GroupError::Unavailable(kind.v1))
    }

    /// From the mounts: v1 where it has the controller, v2 otherwise.
    fn parse(mounts: &str, kind: Kind) -> Option<Controller> {
        let root = |file_system: &str, option: &str| {
            mounts.lines().find_map(|line| {
                let mut fields = line.split(' ').skip(1);
                let (path, is_meant) = (fields.next()?, fields.next()? == file_system);
                let has_option = option.is_empty() || fields.next()?.split(',').any(|name| name == option);
                (is_meant && has_option).then(|| PathBuf::from(path))
            })
        };
        let controller = |is_v2, root: Option<PathBuf>| Some(Controller { is_v2, root: root? });
        controller(false, root("cgroup", kind.v1)).or_else(|| controller(true, root("cgroup2", "")))
    }

    /// Whether groups of v2 may have it.
    fn offers(&self, kind: Kind) -> bool {
        let all = fs::read_to_string(self.root.join("cgroup.controllers")).unwrap_or_default();
        all.split_whitespace().any(|name| name == kind.v2)
    }
}

/// Removes the groups of runs that have ended.
fn remove_left(root: &Path) {
    for path in fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once('-')?.1.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            // The kernel refuses one with processes: its run is in another container.
            let _ = fs::remove_dir(&path);
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), GroupError> {
    fs::write(path, text).map_err(|source| GroupError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controller_of_v1_is_preferred_and_that_of_v2_found_without_it() {
        let mounts = "cgroup /cg/io cgroup rw,blkio 0 0\ncgroup2 /cg/all cgroup2 rw 0 0\n";
        let parse = |mounts: &str| Controller::parse(mounts, PROCESSOR);
        let controller = |is_v2, root: &str| Some(Controller { is_v2, root: root.into() });
        assert_eq!(parse(mounts), controller(true, "/cg/all"));
        assert_eq!(Controller::parse(mounts, DISK), controller(false, "/cg/io"));
        let both = format!("{mounts}cgroup /cg/cpu cgroup rw,cpu,cpuacct 0 0\n");
        assert_eq!(parse(&both), controller(false, "/cg/cpu"));
        assert_eq!(parse("tmpfs /cg tmpfs rw 0 0\n"), None);
    }

    #[test]
    fn group_ends_with_its_owner() {
        let group = match Group::new(PROCESSOR, "test") {
            Ok(group) => group,
            Err(reason) => return println!("skipped: {reason}"),
        };
        let path = group.path.clone();
        assert!(path.exists());
        drop(group);
        assert!(!path.exists());
    }
}
