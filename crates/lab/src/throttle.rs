//! Slow disks: the kernel delays the requests of a block device, by bytes and by requests per second.
//!
//! This is the limit of the controller `blkio` (cgroup v1) or `io` (cgroup v2). The kernel gives out the requests of a
//! device in their order, so a limit of requests is a disk that serves one request at a time, of `1 / limit` seconds
//! each on average. It counts in slices of 100 ms: after a pause, up to 100 ms of requests pass at once.
//!
//! - **v1**: the kernel writes back dirty pages and the journal in the root group. So the limits are set there and, if
//!   it is another one, in the group of this process.
//! - **v2**: the root group has no limits. This process enters a group of its own, and the servers that it starts from
//!   then on are in it. Write-back counts for the group that made a page dirty; the journal does not count.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io, process};

use crate::cgroup::{self, Place};

/// How fast a disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Speed {
    pub(crate) read: Rate,
    pub(crate) write: Rate,
}

/// The most of a direction; nothing for as fast as the device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rate {
    pub(crate) bytes_per_second: Option<u64>,
    /// A flush of the device's cache counts as a write.
    pub(crate) requests_per_second: Option<u64>,
}

/// Why a disk is not slowed down.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThrottleError {
    /// The kernel cannot do it for this program.
    #[error("no slow disks here: {0}")]
    Unavailable(&'static str),
    /// A file of the controller refuses.
    #[error("the kernel's I/O controller: {}: {source}; run as root, outside of a container", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// The controller, with the devices that were slowed down. Dropping it lifts all limits.
#[derive(Debug)]
pub(crate) struct Throttle {
    controller: Controller,
    devices: RefCell<BTreeSet<String>>,
}

/// Where limits are set.
#[derive(Debug)]
enum Controller {
    /// In all of these groups.
    V1(Vec<PathBuf>),
    /// In a group of this process, which it entered from another one.
    V2 { group: PathBuf, home: PathBuf },
}

const V1_FILES: [&str; 4] = [
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];
const V2_KEYS: [&str; 4] = ["rbps", "wbps", "riops", "wiops"];
const V2_FILE: &str = "io.max";
const HIDDEN_ROOT: &str =
    "the root of cgroup v1 is hidden, and what the kernel writes back counts there; run outside of a container";
/// The major number of loop devices.
const LOOP: &str = "7:";

impl Throttle {
    /// Finds the controller, and lifts what a run that was killed has left of its limits.
    ///
    /// # Errors
    /// Why there is none for this program.
    pub(crate) fn new() -> Result<Throttle, ThrottleError> {
        let controller = Controller::find()?;
        controller.enter()?;
        Ok(Throttle { controller, devices: RefCell::default() })
    }

    /// Why this program cannot have slow disks, if it cannot.
    pub(crate) fn missing() -> Option<String> {
        Controller::find().err().map(|error| error.to_string())
    }

    /// Sets the speed of a block device, given by its numbers (`7:0`), from now on.
    pub(crate) fn set(&self, device: &str, speed: Speed) -> Result<(), ThrottleError> {
        self.devices.borrow_mut().insert(device.to_owned());
        self.controller.set(device, speed)
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        for device in self.devices.borrow().iter() {
            // A limit that stays is lifted by the next run.
            let _ = self.controller.set(device, Speed::default());
        }
        if let Controller::V2 { group, home } = &self.controller {
            let _ = fs::write(home.join("cgroup.procs"), process::id().to_string());
            let _ = fs::remove_dir(group);
        }
    }
}

impl Controller {
    fn find() -> Result<Controller, ThrottleError> {
        let place = place()?;
        let (own, root) = (place.own(), place.root);
        if place.is_v2 {
            cgroup::remove_left(&root);
            write(&root.join("cgroup.subtree_control"), "+io +memory")?;
            return Ok(Controller::V2 { group: root.join(cgroup::name("")), home: own });
        }
        // Only the root has this file.
        if !root.join("release_agent").exists() {
            return Err(ThrottleError::Unavailable(HIDDEN_ROOT));
        }
        let groups: BTreeSet<PathBuf> = [root, own].into();
        groups.iter().try_for_each(|group| lift_unused(group))?;
        Ok(Controller::V1(groups.into_iter().collect()))
    }

    fn enter(&self) -> Result<(), ThrottleError> {
        let Controller::V2 { group, .. } = self else { return Ok(()) };
        fs::create_dir(group).map_err(|source| ThrottleError::File { path: group.clone(), source })?;
        write(&group.join("cgroup.procs"), &process::id().to_string())
    }

    fn set(&self, device: &str, speed: Speed) -> Result<(), ThrottleError> {
        let Speed { read, write: written } = speed;
        let limits =
            [read.bytes_per_second, written.bytes_per_second, read.requests_per_second, written.requests_per_second];
        match self {
            Controller::V1(groups) => groups.iter().try_for_each(|group| set_v1(group, device, limits)),
            Controller::V2 { group, .. } => {
                let number = |limit: Option<u64>| limit.map_or("max".to_owned(), |limit| limit.to_string());
                let all = V2_KEYS.iter().zip(limits).map(|(key, limit)| format!(" {key}={}", number(limit)));
                write(&group.join(V2_FILE), &format!("{device}{}", all.collect::<String>()))
            }
        }
    }
}

fn set_v1(group: &Path, device: &str, limits: [Option<u64>; 4]) -> Result<(), ThrottleError> {
    let mut files = V1_FILES.iter().zip(limits);
    // 0 lifts a limit.
    files.try_for_each(|(file, limit)| write(&group.join(file), &format!("{device} {}", limit.unwrap_or(0))))
}

/// Lifts the limits of loop devices that have no file: they would be those of the next user.
fn lift_unused(group: &Path) -> Result<(), ThrottleError> {
    for file in V1_FILES {
        let path = group.join(file);
        let text = fs::read_to_string(&path).map_err(|source| ThrottleError::File { path: path.clone(), source })?;
        let devices = text.lines().filter_map(|line| line.split_whitespace().next());
        let unused =
            |device: &&str| device.starts_with(LOOP) && !Path::new("/sys/dev/block").join(device).join("loop").exists();
        devices.filter(unused).try_for_each(|device| write(&path, &format!("{device} 0")))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), ThrottleError> {
    fs::write(path, text).map_err(|source| ThrottleError::File { path: path.to_owned(), source })
}

fn place() -> Result<Place, ThrottleError> {
    let found = Place::find("blkio", "io").map_err(|(path, source)| ThrottleError::File { path, source })?;
    found.ok_or(ThrottleError::Unavailable("no cgroup with the controller blkio or io is mounted"))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::cache::{self, CacheState};
    use crate::data_file;
    use crate::volume::{self, Volume, VolumeKind};

    const BYTES: u64 = 8 << 20;
    const BYTES_PER_SECOND: u64 = 10_000_000;
    const REQUESTS_PER_SECOND: u64 = 100;
    const TRIES: u32 = 3;

    /// A disk, its image in memory, so that only the limits make it slow; none where there can be none.
    fn with_disk(act: impl FnOnce(&Throttle, &Volume, &Path)) {
        let throttle = match (volume::is_permitted(), Throttle::new()) {
            (true, Ok(throttle)) => throttle,
            (false, _) => return println!("skipped: loop devices need root"),
            (_, Err(reason)) => return println!("skipped: {reason}"),
        };
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = PathBuf::from(format!("/dev/shm/wharf-throttle-test-{}-{number}", process::id()));
        fs::create_dir(&folder).unwrap();
        volume::hide_mounts().unwrap();
        let disk = Volume::new(VolumeKind::Ext4, &folder, BYTES).unwrap();
        let path = disk.directory().join("file");
        data_file::make(&path, BYTES).unwrap().sync_all().unwrap();
        act(&throttle, &disk, &path);
        drop((disk, throttle));
        fs::remove_dir_all(&folder).unwrap();
    }

    /// What the disk should need for something, in seconds, is what it takes, within a factor of 2. Other programs may
    /// make it longer, so the shortest of several tries counts.
    fn takes(wanted: f64, mut act: impl FnMut()) {
        let mut seconds = || {
            let began = Instant::now();
            act();
            began.elapsed().as_secs_f64()
        };
        let least = (0..TRIES).map(|_| seconds()).fold(f64::INFINITY, f64::min);
        assert!((wanted / 2.0..wanted * 2.0).contains(&least), "{least} s, not {wanted} s");
    }

    /// The loop device that is taken last by those who need one.
    fn last_free() -> String {
        let names = fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap().path());
        let number = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix("loop")?.parse::<u32>().ok();
        let last = names.filter(|path| !path.join("loop").exists()).filter_map(|path| number(&path)).max().unwrap();
        volume::numbers(&format!("/dev/loop{last}")).unwrap()
    }

    /// How many reads and writes a disk has done so far.
    fn requests(disk: &Volume) -> [u64; 2] {
        let stat = fs::read_to_string(format!("/sys/dev/block/{}/stat", disk.device())).unwrap();
        let numbers: Vec<u64> = stat.split_whitespace().map(|word| word.parse().unwrap()).collect();
        [numbers[0], numbers[4]]
    }

    #[test]
    fn cold_reads_and_flushed_writes_take_as_long_as_the_bytes_of_the_disk() {
        with_disk(|throttle, disk, path| {
            if let Err(reason) = cache::bring_to(path, CacheState::Cold) {
                return println!("skipped: {reason}");
            }
            let rate = Rate { bytes_per_second: Some(BYTES_PER_SECOND), requests_per_second: None };
            throttle.set(disk.device(), Speed { read: rate, write: rate }).unwrap();
            let seconds = BYTES as f64 / BYTES_PER_SECOND as f64;
            takes(seconds, || {
                cache::bring_to(path, CacheState::Cold).unwrap();
                fs::read(path).unwrap();
            });
            // Through the page cache: the kernel's write-back is slow as well.
            takes(seconds, || data_file::make(path, BYTES).unwrap().sync_all().unwrap());
            let before = requests(disk);
            assert_eq!(fs::read(path).unwrap().len() as u64, BYTES);
            assert_eq!(requests(disk)[0], before[0], "what is in memory is read from the disk");
        });
    }

    #[test]
    fn requests_take_their_time_one_after_the_other_however_many_wait() {
        with_disk(|throttle, disk, path| {
            let rate = Rate { bytes_per_second: None, requests_per_second: Some(REQUESTS_PER_SECOND) };
            throttle.set(disk.device(), Speed { read: Rate::default(), write: rate }).unwrap();
            let write_and_flush = |number: u64| {
                let file = File::options().write(true).open(path).unwrap();
                (0..10).for_each(|index| {
                    file.write_all_at(b"x", (number * 10 + index) << 13).unwrap();
                    file.sync_data().unwrap();
                });
            };
            let before = requests(disk);
            let began = Instant::now();
            thread::scope(|scope| (0..8).for_each(|number| drop(scope.spawn(move || write_and_flush(number)))));
            let (written, elapsed) = (requests(disk)[1] - before[1], began.elapsed().as_secs_f64());
            // 100 ms of requests may pass at once, and each end of the time may have them.
            let most = (elapsed + 0.2) * REQUESTS_PER_SECOND as f64;
            assert!(written >= 80 && written as f64 <= most, "{written} requests in {elapsed} s");
        });
    }

    #[test]
    fn limit_ends_with_its_throttle_and_one_that_a_killed_run_left_with_the_next() {
        with_disk(|throttle, disk, _| {
            let Controller::V1(groups) = &throttle.controller else { return println!("skipped: cgroup v2") };
            let has_limit = |device: &str| {
                let limits = fs::read_to_string(groups[0].join(V1_FILES[0])).unwrap();
                limits.lines().any(|line| line.starts_with(&format!("{device} ")))
            };
            let rate = Rate { bytes_per_second: Some(BYTES_PER_SECOND), requests_per_second: None };
            let speed = Speed { read: rate, write: rate };
            let another = Throttle::new().unwrap();
            another.set(disk.device(), speed).unwrap();
            assert!(has_limit(disk.device()));
            // One whose device is in use stays.
            drop(Throttle::new().unwrap());
            assert!(has_limit(disk.device()));
            drop(another);
            assert!(!has_limit(disk.device()));
            let free = last_free();
            throttle.controller.set(&free, speed).unwrap();
            assert!(has_limit(&free));
            drop(Throttle::new().unwrap());
            assert!(!has_limit(&free));
        });
    }
}
