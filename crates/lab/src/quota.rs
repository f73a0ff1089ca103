//! Servers that get a part of a processor only: the kernel stops them for the rest of each period.
//!
//! This is the bandwidth of the controller `cpu` (cgroup v1 and v2). The kernel looks at its ticks whether a process
//! has had its time; what it had too much, it lacks in the next periods. So the mean is exact. A request
//! that comes when the time is used up waits for a few periods, so these are short; usual are 100 ms.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io, process};

/// What the name of every group begins with.
const PREFIX: &str = "wharf-lab-";

/// How much of one processor a group of processes gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// At least 1 ms.
    pub(crate) quota_us: u64,
    pub(crate) period_us: u64,
}

/// Why processes cannot be limited.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuotaError {
    /// The kernel has no such controller here.
    #[error("no cgroup with the controller cpu is mounted")]
    Unavailable,
    /// A file of the controller refuses.
    #[error("the kernel's processor controller: {}: {source}; run as root, outside of a container", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A group of processes that share a part of a processor. It ends with this and the last of them.
#[derive(Debug)]
pub(crate) struct Quota {
    group: PathBuf,
}

impl Quota {
    /// Makes a group without processes. Removes those that killed runs have left.
    ///
    /// # Errors
    /// Why there is none for this program.
    pub(crate) fn new(purpose: &str, share: Share) -> Result<Quota, QuotaError> {
        let controller = Controller::find()?;
        remove_left(&controller.root);
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let group = controller.root.join(format!("{PREFIX}{purpose}-{number}-{}", process::id()));
        fs::create_dir(&group).map_err(|source| QuotaError::File { path: group.clone(), source })?;
        let quota = Quota { group };
        quota.set(&controller, share)?;
        Ok(quota)
    }

    /// Why this program cannot limit processes, if it cannot: it tries.
    pub(crate) fn missing() -> Option<String> {
        Quota::new("try", Share { quota_us: 1000, period_us: 5000 }).err().map(|error| error.to_string())
    }

    fn set(&self, controller: &Controller, Share { quota_us, period_us }: Share) -> Result<(), QuotaError> {
        if controller.is_v2 {
            write(&controller.root.join("cgroup.subtree_control"), "+cpu")?;
            return write(&self.group.join("cpu.max"), &format!("{quota_us} {period_us}"));
        }
        write(&self.group.join("cpu.cfs_period_us"), &period_us.to_string())?;
        write(&self.group.join("cpu.cfs_quota_us"), &quota_us.to_string())
    }

    /// Limits a process from now on, with all of its threads.
    ///
    /// # Errors
    /// When the kernel refuses that.
    pub(crate) fn limit(&self, pid: u32) -> Result<(), QuotaError> {
        write(&self.group.join("cgroup.procs"), &pid.to_string())
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // One with a process left is removed by the next run.
        let _ = fs::remove_dir(&self.group);
    }
}

/// Where the controller `cpu` is mounted (cgroups(7)).
#[derive(Debug, PartialEq, Eq)]
struct Controller {
    is_v2: bool,
    root: PathBuf,
}

impl Controller {
    fn find() -> Result<Controller, QuotaError> {
        let path = "/proc/self/mounts";
        let mounts = fs::read_to_string(path).map_err(|source| QuotaError::File { path: path.into(), source })?;
        let found = Controller::parse(&mounts).filter(|controller| !controller.is_v2 || controller.is_offered());
        found.ok_or(QuotaError::Unavailable)
    }

    /// From the mounts: v1 where it has the controller, v2 otherwise.
    fn parse(mounts: &str) -> Option<Controller> {
        let root = |kind: &str, option: &str| {
            mounts.lines().find_map(|line| {
                let mut fields = line.split(' ').skip(1);
                let (path, is_kind) = (fields.next()?, fields.next()? == kind);
                let has_option = option.is_empty() || fields.next()?.split(',').any(|name| name == option);
                (is_kind && has_option).then(|| PathBuf::from(path))
            })
        };
        let controller = |is_v2, root: Option<PathBuf>| Some(Controller { is_v2, root: root? });
        controller(false, root("cgroup", "cpu")).or_else(|| controller(true, root("cgroup2", "")))
    }

    /// Whether groups of v2 may have it.
    fn is_offered(&self) -> bool {
        let all = fs::read_to_string(self.root.join("cgroup.controllers")).unwrap_or_default();
        all.split_whitespace().any(|name| name == "cpu")
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

fn write(path: &Path, text: &str) -> Result<(), QuotaError> {
    fs::write(path, text).map_err(|source| QuotaError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::process::Process;

    #[test]
    fn controller_of_v1_is_preferred_and_that_of_v2_found_without_it() {
        let mounts = "cgroup /cg/io cgroup rw,blkio 0 0\ncgroup2 /cg/all cgroup2 rw 0 0\n";
        let controller = |is_v2, root: &str| Some(Controller { is_v2, root: root.into() });
        assert_eq!(Controller::parse(mounts), controller(true, "/cg/all"));
        let both = format!("{mounts}cgroup /cg/cpu cgroup rw,cpu,cpuacct 0 0\n");
        assert_eq!(Controller::parse(&both), controller(false, "/cg/cpu"));
        assert_eq!(Controller::parse("tmpfs /cg tmpfs rw 0 0\n"), None);
    }

    #[test]
    fn process_gets_its_share_of_a_processor_and_the_group_ends_with_it() {
        if let Some(reason) = Quota::missing() {
            println!("skipped: {reason}");
            return;
        }
        let quota = Quota::new("test", Share { quota_us: 1000, period_us: 5000 }).unwrap();
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        quota.limit(busy.id()).unwrap();
        let time = || Process::Id(busy.id()).time().unwrap();
        let (before, began) = (time(), std::time::Instant::now());
        std::thread::sleep(std::time::Duration::from_millis(500));
        let (used, elapsed) = (time() - before, began.elapsed());
        // A busy machine gives less; a tick may be too much at both ends.
        assert!(used.as_secs_f64() < 0.2 * elapsed.as_secs_f64() + 0.03, "{used:?} of {elapsed:?}");
        busy.kill().unwrap();
        busy.wait().unwrap();
        let group = quota.group.clone();
        drop(quota);
        assert!(!group.exists());
    }
}
