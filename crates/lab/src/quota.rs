//! Processes that get a part of a processor only: the kernel stops them for the rest of each period.
//!
//! This is the bandwidth of the controller `cpu` (cgroup v1 and v2). The kernel looks at its ticks whether a process
//! has had its time; what it had too much, it lacks in the next periods. So the mean is exact. A request
//! that comes when the time is used up waits for a few periods, so these are short; usual are 100 ms.

use crate::cgroup::{Group, GroupError, PROCESSOR};

/// How much of one processor a group of processes gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    /// At least 1 ms.
    pub(crate) quota_us: u64,
    pub(crate) period_us: u64,
}

/// A group of processes that share a part of a processor. It ends with this and the last of them.
#[derive(Debug)]
pub(crate) struct Quota {
    group: Group,
}

impl Share {
    /// In percent of a processor.
    pub(crate) fn percent(self) -> f64 {
        self.quota_us as f64 / self.period_us as f64 * 100.0
    }
}

impl Quota {
    /// Makes a group without processes.
    ///
    /// # Errors
    /// Why there is none for this program.
    pub(crate) fn new(purpose: &str, Share { quota_us, period_us }: Share) -> Result<Quota, GroupError> {
        let group = Group::new(PROCESSOR, purpose)?;
        if group.is_v2 {
            group.set("cpu.max", &format!("{quota_us} {period_us}"))?;
        } else {
            group.set("cpu.cfs_period_us", &period_us.to_string())?;
            group.set("cpu.cfs_quota_us", &quota_us.to_string())?;
        }
        Ok(Quota { group })
    }

    /// Why this program cannot limit processes, if it cannot: it tries.
    pub(crate) fn missing() -> Option<String> {
        Quota::new("try", Share { quota_us: 1000, period_us: 5000 }).err().map(|error| error.to_string())
    }

    /// Limits a process from now on, with all of its threads.
    ///
    /// # Errors
    /// When the kernel refuses that.
    pub(crate) fn limit(&self, pid: u32) -> Result<(), GroupError> {
        self.group.add(pid)
    }

    /// Ends the limit of a process.
    ///
    /// # Errors
    /// When the kernel refuses that.
    pub(crate) fn release(&self, pid: u32) -> Result<(), GroupError> {
        self.group.remove(pid)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::process::Process;

    #[test]
    fn process_gets_its_share_of_a_processor() {
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
    }
}
