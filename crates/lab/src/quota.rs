//! Servers that get a part of a processor only: the kernel stops them for the rest of each period.
//!
//! This is the bandwidth of the controller `cpu` (cgroup v1 and v2). The kernel looks at its ticks whether a process
//! has had its time; what it had too much, it lacks in the next periods. So the mean is exact. The period is short: a
//! request that meets the end of the time waits for a few periods, and of the usual 100 ms for nearly one.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

use crate::cgroup::{self, Place};

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
        let found = Place::find("cpu", "cpu").map_err(|(path, source)| QuotaError::File { path, source })?;
        let place = found.ok_or(QuotaError::Unavailable)?;
        cgroup::remove_left(&place.root);
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let group = place.root.join(cgroup::name(&format!("{purpose}-{number}-")));
        fs::create_dir(&group).map_err(|source| QuotaError::File { path: group.clone(), source })?;
        let quota = Quota { group };
        quota.set(place.is_v2.then_some(&place.root), share)?;
        Ok(quota)
    }

    /// Why this program cannot limit processes, if it cannot: it tries.
    pub(crate) fn missing() -> Option<String> {
        Quota::new("try", Share { quota_us: 1000, period_us: 5000 }).err().map(|error| error.to_string())
    }

    fn set(&self, v2_root: Option<&PathBuf>, Share { quota_us, period_us }: Share) -> Result<(), QuotaError> {
        if let Some(root) = v2_root {
            write(&root.join("cgroup.subtree_control"), "+cpu")?;
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

fn write(path: &Path, text: &str) -> Result<(), QuotaError> {
    fs::write(path, text).map_err(|source| QuotaError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::process::Process;

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
