//! A machine that is running: a file system, exported directories on it, and a write log in front of them.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fastrand::Rng;
use fs_host::{HostFs, HostOptions, OpenError};
use rustix::fs::FallocateFlags;
use stable::{FileDevice, Options, Replayed, SetAside, WriteLog, WriteLogError, changes_set_aside};
use testing::Rebooted;
use testing::model::change::CX;
use vfs::FileSystem;

use crate::block::{Attached, MountedDisk, Overlay, Workshop};
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

/// Where the write log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    None,
    /// A file of the file system that it protects.
    File,
    /// A disk of its own.
    Disk,
}

/// What a machine is like.
#[derive(Debug, Clone, Copy)]
pub struct Setup {
    pub kind: &'static str,
    pub mkfs: &'static [&'static str],
    pub mount: &'static str,
    /// Whether the exports are on an overlay, whose upper layer is on the file system.
    pub is_overlay: bool,
    /// Without a journal, a file system promises only what was flushed, and nothing while it changes: the power fails
    /// when no client waits, no write is torn, and `e2fsck` repairs it.
    pub has_journal: bool,
    pub disk_bytes: u64,
    /// Where the superblock is, if it is larger than a sector: no file system survives it if this is torn.
    pub superblock: (u64, u64),
    pub log_bytes: u64,
    /// Stable writes of so many bytes are flushed, and not logged.
    pub large_write_bytes: usize,
    pub log: Log,
    /// Whether a server with a log keeps its files on another disk: it calls fsync(2) for them, and the kernel loses
    /// what several callers have flushed so on this file system.
    pub keeps_state_apart: bool,
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
/// The disk of the state directory, and of the log if it is a file, if they are apart: an ext4.
const STATE_DISK: usize = 2;
const STATE_DISK_BYTES: u64 = 32 << 20;
const STATE_MKFS: (&str, &[&str]) = ("ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]);
const EXT4_SUPERBLOCK: Range<u64> = 1024..2048;

/// How many directories are exported. While one is flushed, clients change the other one.
pub const EXPORTS: usize = 2;
/// The directory that has them.
const EXPORTS_DIR: &str = "exports";

pub struct System {
    exports: Vec<Arc<dyn FileSystem>>,
    log: Option<Arc<WriteLog>>,
    /// What was made again in each.
    pub replayed: Vec<Replayed>,
    /// When the machine started.
    started: SystemTime,
    log_disk: Option<Attached>,
    overlay: Option<Overlay>,
    state_disk: Option<MountedDisk>,
    mounted: MountedDisk,
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

    /// Whether a promise holds only while one call at a time flushes. When the journal of ext4 fails, Linux tells one
    /// of several callers of `fsync(2)`. Once its log has failed, a server calls that for every change.
    pub fn is_for_one_client(&self) -> bool {
        let flushes = self.log == Log::None || self.log_may_fail();
        !self.has_journal || self.kind == "ext4" && flushes && self.disk_may_fail()
    }

    /// Whether what was asked for and not acknowledged may be there in part.
    pub fn may_be_partial(&self) -> bool {
        self.log == Log::None || self.breaks != Breaks::Nothing
    }

    /// Whether the log must be on a disk of its own, which may fail.
    pub fn log_may_fail(&self) -> bool {
        matches!(self.breaks, Breaks::Log | Breaks::Both)
    }

    /// A machine with these disks.
    pub fn machine(&self, images: Vec<Image>) -> Arc<Machine> {
        let disks = [
            (self.disk_bytes, self.superblock.0..self.superblock.1),
            (self.log_bytes, 0..0),
            (STATE_DISK_BYTES, EXT4_SUPERBLOCK),
        ];
        let disks = disks.into_iter().zip(images).map(|((bytes, whole), image)| (bytes, image, whole));
        Machine::new(disks.collect(), self.has_journal)
    }

    fn has_state_disk(&self) -> bool {
        self.keeps_state_apart && self.log != Log::None
    }

    /// How many disks there are, up to the last one that is used.
    fn disks(&self) -> usize {
        match self.log {
            _ if self.has_state_disk() => STATE_DISK + 1,
            Log::Disk => LOG_DISK + 1,
            Log::None | Log::File => DISK + 1,
        }
    }

    fn mount_state(&self, workshop: &Workshop, machine: &Arc<Machine>) -> Option<MountedDisk> {
        self.has_state_disk().then(|| workshop.mount(machine, STATE_DISK, (STATE_MKFS.0, "")))
    }

    /// A machine with an empty file system and an empty log, or says why there is none and gives `None`.
    pub fn new_machine(&self, workshop: &Workshop) -> Option<Arc<Machine>> {
        let machine = self.machine(vec![Image::default(); self.disks()]);
        if !workshop.format(&machine, DISK, (self.kind, self.mkfs)) {
            return None;
        }
        if self.has_state_disk() {
            workshop.format(&machine, STATE_DISK, STATE_MKFS);
        }
        let mounted = workshop.mount(&machine, DISK, (self.kind, self.mount));
        let state_disk = self.mount_state(workshop, &machine);
        let server_dir = &state_disk.as_ref().unwrap_or(&mounted).dir;
        testing::private_dir(&server_dir.join("state"));
        let exports = mounted.dir.join(EXPORTS_DIR);
        (0..EXPORTS).for_each(|number| std::fs::create_dir_all(exports.join(number.to_string())).unwrap());
        let device = match self.log {
            Log::None => None,
            Log::File => Some(FileDevice::create(&server_dir.join("log"), self.log_bytes).unwrap()),
            Log::Disk => Some(FileDevice::open(&workshop.attach(&machine, LOG_DISK).path).unwrap()),
        };
        if let Some(device) = device {
            WriteLog::create(Arc::new(device)).unwrap();
        }
        for mounted in state_disk.iter().chain([&mounted]) {
            rustix::fs::syncfs(File::open(&mounted.dir).unwrap()).unwrap();
        }
        drop((state_disk, mounted));
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
        let started = SystemTime::now();
        if !setup.has_journal {
            workshop.repair(machine, DISK);
        }
        let mounted = workshop.mount(machine, DISK, (setup.kind, setup.mount));
        let state_disk = setup.mount_state(workshop, machine);
        let overlay = setup.is_overlay.then(|| workshop.mount_overlay(&mounted, EXPORTS_DIR));
        let log_disk = (setup.log == Log::Disk).then(|| workshop.attach(machine, LOG_DISK));
        let (log, exports, replayed) = (None, Vec::new(), Vec::new());
        let mut system = System { exports, log, replayed, started, log_disk, overlay, state_disk, mounted };
        drop_indices(&system.state_dir());
        if setup.log == Log::None {
            system.exports = (0..EXPORTS).map(|number| system.open(number, true) as Arc<dyn FileSystem>).collect();
            return Ok(system);
        }
        // The kernel's pages of this disk were lost, and not those of the machine that the test runs on.
        system.start_log(setup, true)?;
        Ok(system)
    }

    /// Starts the server again after a kill, on the file system as it is, unless that refuses everything.
    pub fn restart(mut self, setup: &Setup) -> Option<System> {
        self.exports.clear();
        if let Some(log) = self.log.take() {
            log.close();
            drop(log);
            // A file system that has failed for good cannot even be opened.
            self.try_open(0, false).ok()?;
            self.start_log(setup, false).ok()?;
        } else {
            let open = |number| Some(self.try_open(number, true).ok()? as Arc<dyn FileSystem>);
            self.exports = (0..EXPORTS).map(open).collect::<Option<_>>()?;
        }
        Some(self)
    }

    fn start_log(&mut self, setup: &Setup, always_replay: bool) -> Result<(), WriteLogError> {
        let log_path = self.log_disk.as_ref().map_or(self.server_dir().join("log"), |attached| attached.path.clone());
        let options = Options {
            always_replay,
            max_age: Duration::from_millis(100),
            large_write_bytes: setup.large_write_bytes,
            ..Options::new(self.state_dir())
        };
        let log = WriteLog::open(Arc::new(FileDevice::open(&log_path)?), options)?;
        self.log = Some(Arc::clone(&log));
        let rebooted = |number| Arc::new(Rebooted { inner: self.open(number, false), at: self.started }) as _;
        let inner = (0..EXPORTS).map(|number| (number.to_string().into(), rebooted(number))).collect();
        for (export, replayed) in log.attach_all(inner)? {
            self.exports.push(Arc::new(export));
            self.replayed.push(replayed);
        }
        log.start()
    }

    fn open(&self, number: usize, sync_metadata: bool) -> Arc<HostFs> {
        self.try_open(number, sync_metadata).unwrap()
    }

    fn try_open(&self, number: usize, sync_metadata: bool) -> Result<Arc<HostFs>, OpenError> {
        let state_dir = Some(self.state_dir());
        // An overlay is refused behind a log.
        let is_behind_log = self.log.is_some() && self.overlay.is_none();
        let options = HostOptions { state_dir, sync_metadata, is_behind_log, ..HostOptions::default() };
        HostFs::open(&self.exports_dir().join(number.to_string()), options).map(Arc::new)
    }

    /// Has the log emptied in the background, as a server does.
    pub fn begin(&self) {
        self.log.iter().for_each(|log| log.trim_in_background().unwrap());
    }

    /// Brings everything to storage.
    pub fn drain(&self) -> Result<(), Box<dyn std::error::Error>> {
        match &self.log {
            Some(log) => Ok(log.drain()?),
            None => Ok(self.exports.iter().try_for_each(|export| export.sync_all(&CX))?),
        }
    }

    /// What replays have set aside.
    pub fn set_aside(&self) -> Vec<SetAside> {
        changes_set_aside(&self.state_dir()).unwrap()
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
    pub fn fs(&self, client: usize) -> &dyn FileSystem {
        &*self.exports[client % EXPORTS]
    }

    /// Where the server's own files are.
    fn server_dir(&self) -> &Path {
        &self.state_disk.as_ref().unwrap_or(&self.mounted).dir
    }

    fn state_dir(&self) -> PathBuf {
        self.server_dir().join("state")
    }

    /// The directory of the exports as local processes see it.
    pub fn exports_dir(&self) -> PathBuf {
        self.overlay.as_ref().map_or_else(|| self.mounted.dir.join(EXPORTS_DIR), |overlay| overlay.dir.clone())
    }
}

/// Removes the indices of handles: after a start of the machine they count for nothing, but this machine has not
/// started.
fn drop_indices(state_dir: &Path) {
    for entry in std::fs::read_dir(state_dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "index") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

impl Drop for System {
    fn drop(&mut self) {
        if let Some(log) = &self.log {
            log.close();
        }
    }
}
