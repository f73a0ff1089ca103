//! Servers whose disks are slow: the kernel delays what they read.
//!
//! This is the limit of the controller `blkio` (cgroup v1) or `io` (cgroup v2), by bytes per second. The kernel gives
//! out the requests of a device in their order. It counts in slices of 100 ms: after a pause, the first bytes pass at
//! once. The limit holds for the processes of the group only; whoever else reads the device is as fast as it is.

use crate::cgroup::{DISK, Group, GroupError};

/// A group of processes that read slowly. It ends with this and the last of them.
#[derive(Debug)]
pub(crate) struct ReadLimit {
    group: Group,
}

impl ReadLimit {
    /// Makes a group without processes and limits.
    ///
    /// # Errors
    /// Why there is none for this program.
    pub(crate) fn new(purpose: &str) -> Result<ReadLimit, GroupError> {
        Ok(ReadLimit { group: Group::new(DISK, purpose)? })
    }

    /// Why this program cannot limit processes, if it cannot: it tries.
    pub(crate) fn missing() -> Option<String> {
        ReadLimit::new("try").err().map(|error| error.to_string())
    }

    /// Limits a process from now on, with all of its threads.
    ///
    /// # Errors
    /// When the kernel refuses that.
    pub(crate) fn limit(&self, pid: u32) -> Result<(), GroupError> {
        self.group.add(pid)
    }

    /// Sets how fast a block device is, given by its numbers (`7:0`), from now on; `None` is as fast as it can.
    ///
    /// # Errors
    /// When the kernel refuses that.
    pub(crate) fn set(&self, device: &str, bytes_per_second: Option<u64>) -> Result<(), GroupError> {
        if self.group.is_v2 {
            let rate = bytes_per_second.map_or("max".to_owned(), |rate| rate.to_string());
            return self.group.set("io.max", &format!("{device} rbps={rate}"));
        }
        // 0 lifts a limit.
        self.group.set("blkio.throttle.read_bps_device", &format!("{device} {}", bytes_per_second.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::*;
    use crate::cache::{self, CacheState};
    use crate::data_file;
    use crate::volume::{self, Volume, VolumeKind};

    const BYTES: u64 = 8 << 20;
    const BYTES_PER_SECOND: u64 = 10_000_000;

    #[test]
    fn process_of_the_group_reads_a_cold_file_as_slowly_as_the_limit_says() {
        let limit = match (volume::is_permitted(), ReadLimit::new("test")) {
            (true, Ok(limit)) => limit,
            (false, _) => return println!("skipped: loop devices need root"),
            (_, Err(reason)) => return println!("skipped: {reason}"),
        };
        let folder = PathBuf::from(format!("/dev/shm/wharf-read-limit-test-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        volume::hide_mounts().unwrap();
        let disk = Volume::new(VolumeKind::Ext4, &folder, BYTES).unwrap();
        let path = disk.directory().join("file");
        data_file::make(&path, BYTES).unwrap().sync_all().unwrap();
        limit.set(disk.device(), Some(BYTES_PER_SECOND)).unwrap();
        let reader = || {
            let script = "read begin; exec cat \"$0\"";
            let mut shell = Command::new("sh");
            shell.args(["-c", script]).arg(&path).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
        };
        let mut reading = reader();
        limit.limit(reading.id()).unwrap();
        match cache::bring_to(&path, CacheState::Cold) {
            Err(reason) => println!("skipped: {reason}"),
            Ok(_) => {
                let began = Instant::now();
                drop(reading.stdin.take());
                reading.wait().unwrap();
                // It has no most: the machine may be busy.
                assert!(began.elapsed().as_secs_f64() > 0.5 * BYTES as f64 / BYTES_PER_SECOND as f64);
            }
        }
        let _ = reading.kill();
        let _ = reading.wait();
        drop(disk);
        fs::remove_dir_all(&folder).unwrap();
    }
}
