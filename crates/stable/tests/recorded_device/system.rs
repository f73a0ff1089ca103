//! A machine that is running: a file system, exported directories on it, and a write log in front of them.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use fs_host::{HostFs, HostOptions};
use rustix::fs::FallocateFlags;
use stable::{FileDevice, Options, Replayed, StableFs, WriteLog, WriteLogError};

use crate::block::{Attached, MountedDisk, Workshop};
use crate::image::Image;
use crate::machine::{Failure, Machine};

/// Which disk fails while clients change files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breaks {
    Nothing,
    /// The log's, for good.
    Log,
    /// The file system's, for a while or for good.
    Disk,
    /// First the one, and then the other.
    Both,
}

/// What a machine is like.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub kind: &'static str,
    pub mkfs: &'static [&'static str],
    pub mount: &'static str,
    pub disk_bytes: u64,
    /// Where the superblock is, if it is larger than a sector: no file system survives it if this is torn.
    pub superblock: (u64, u64),
    pub log_bytes: u64,
    /// Stable writes of so many bytes are flushed, and not logged.
    pub large_write_bytes: usize,
    /// Whether the log is on a disk of its own, and not a file of the file system that it protects.
    pub has_log_disk: bool,
    pub breaks: Breaks,
    /// Whether clients fill the file system.
    pub is_full: bool,
}

/// How much room clients have in a file system that they fill.
const ROOM_BYTES: u64 = 128 << 10;
/// The file of somebody else that takes the rest.
const FILLER: &str = "filler";

/// The file system's disk.
pub const DISK: usize = 0;
/// The log's, if it has one.
const LOG_DISK: usize = 1;

/// How many directories are exported. While one is flushed, clients change the other one.
pub const EXPORTS: usize = 2;
/// The directory that has them.
const EXPORTS_DIR: &str = "exports";

pub struct System {
    exports: Vec<StableFs>,
    pub log: Arc<WriteLog>,
    /// What was made again in each.
    pub replayed: Vec<Replayed>,
    _log_disk: Option<Attached>,
    pub mounted: MountedDisk,
}

impl Setup {
    /// What goes wrong in the next life.
    pub fn failures(&self, rng: &mut Rng) -> Vec<Failure> {
        let log = Failure { disk: LOG_DISK, after: rng.u64(..60), times: u64::MAX };
        let times = if rng.bool() { u64::MAX } else { rng.u64(1..6) };
        let disk = Failure { disk: DISK, after: rng.u64(..200), times };
        match self.breaks {
            Breaks::Nothing => vec![],
            Breaks::Log => vec![log],
            Breaks::Disk => vec![disk],
            Breaks::Both => vec![log, disk],
        }
    }

    /// Whether the file system's disk may fail.
    pub fn disk_may_fail(&self) -> bool {
        matches!(self.breaks, Breaks::Disk | Breaks::Both)
    }

    /// Whether the log must be on a disk of its own, which may fail.
    pub fn log_may_fail(&self) -> bool {
        matches!(self.breaks, Breaks::Log | Breaks::Both)
    }

    /// A machine with these disks.
    pub fn machine(&self, images: Vec<Image>) -> Arc<Machine> {
        let whole = self.superblock.0..self.superblock.1;
        Machine::new([self.disk_bytes, self.log_bytes].into_iter().zip(images).collect(), whole)
    }

    /// A machine with an empty file system and an empty log, or says why there is none and gives `None`.
    pub fn new_machine(&self, workshop: &Workshop) -> Option<Arc<Machine>> {
        let machine = self.machine(vec![Image::default(); if self.has_log_disk { 2 } else { 1 }]);
        if !workshop.format(&machine, DISK, (self.kind, self.mkfs)) {
            return None;
        }
        let mounted = workshop.mount(&machine, DISK, (self.kind, self.mount));
        testing::private_dir(&mounted.dir.join("state"));
        let exports = mounted.dir.join(EXPORTS_DIR);
        (0..EXPORTS).for_each(|number| std::fs::create_dir_all(exports.join(number.to_string())).unwrap());
        let device = if self.has_log_disk {
            let attached = workshop.attach(&machine, LOG_DISK);
            FileDevice::open(&attached.path).unwrap()
        } else {
            FileDevice::create(&mounted.dir.join("log"), self.log_bytes).unwrap()
        };
        WriteLog::create(Arc::new(device)).unwrap();
        drop(mounted);
        Some(machine)
    }
}

impl System {
    /// Gives back the room that [`System::fill`] has taken, as whoever sees that the log cannot be replayed.
    pub fn make_room(workshop: &Workshop, machine: &Arc<Machine>, setup: &Setup) {
        let mounted = workshop.mount(machine, DISK, (setup.kind, setup.mount));
        std::fs::remove_file(mounted.dir.join(FILLER)).unwrap();
    }

    /// Starts a machine: the kernel recovers the file system, and the log is replayed.
    pub fn start(workshop: &Workshop, machine: &Arc<Machine>, setup: &Setup) -> Result<System, WriteLogError> {
        let mounted = workshop.mount(machine, DISK, (setup.kind, setup.mount));
        let log_disk = setup.has_log_disk.then(|| workshop.attach(machine, LOG_DISK));
        let log_path = log_disk.as_ref().map_or(mounted.dir.join("log"), |attached| attached.path.clone());
        let state_dir = mounted.dir.join("state");
        // The kernel's pages of this disk were lost, and not those of the machine that the test runs on.
        let options = Options {
            always_replay: true,
            max_age: Duration::from_millis(100),
            large_write_bytes: setup.large_write_bytes,
            ..Options::new(state_dir.clone())
        };
        let log = WriteLog::open(Arc::new(FileDevice::open(&log_path)?), options)?;
        let attach = |number: usize| {
            let state_dir = Some(state_dir.clone());
            let host = HostOptions { state_dir, sync_metadata: false, ..HostOptions::default() };
            let name = number.to_string();
            let host = HostFs::open(&mounted.dir.join(EXPORTS_DIR).join(&name), host).unwrap();
            log.attach(&name, Arc::new(host))
        };
        let attached: Result<(Vec<_>, Vec<_>), _> = (0..EXPORTS).map(attach).collect();
        match attached.and_then(|attached| log.start().map(|()| attached)) {
            Ok((exports, replayed)) => Ok(System { exports, log, replayed, _log_disk: log_disk, mounted }),
            Err(error) => {
                log.close();
                Err(error)
            }
        }
    }

    /// Takes nearly all room of the file system.
    pub fn fill(&self) {
        let space = rustix::fs::statvfs(&self.mounted.dir).unwrap();
        let free_bytes = (space.f_bfree * space.f_frsize).saturating_sub(ROOM_BYTES);
        let file = File::create(self.mounted.dir.join(FILLER)).unwrap();
        if free_bytes > 0 {
            // Some of what is free may be reserved.
            let _ = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, free_bytes);
        }
        file.sync_all().unwrap();
    }

    /// The export of a client.
    pub fn fs(&self, client: usize) -> &StableFs {
        &self.exports[client % EXPORTS]
    }

    /// The directory of the exports as local processes see it.
    pub fn exports_dir(&self) -> PathBuf {
        self.mounted.dir.join(EXPORTS_DIR)
    }
}

impl Drop for System {
    fn drop(&mut self) {
        self.log.close();
    }
}
