//! Disks as block devices, and file systems on them. All of it is in a mount namespace of the thread that made it, and
//! goes with the thread: mounts at its end, and loop devices with the last one that uses them.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use testing::disks::{AttachedLoop, enter_mount_namespace, succeeds, unmount_soon};

use crate::bay::{Bay, Slot};
use crate::machine::Machine;
use crate::watchdog::Watchdog;

/// A bay, and a directory in memory in which the rest is mounted.
pub struct Workshop {
    dir: PathBuf,
    bay: Bay,
    _watchdog: Watchdog,
}

impl Workshop {
    /// Makes a namespace for this thread, or says why that cannot be done here and gives `None`.
    pub fn new() -> Option<Workshop> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        if !enter_mount_namespace() {
            return None;
        }
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("wharf-cuts-{}-{number}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        mount("none", &dir, "tmpfs", MountFlags::empty(), None).unwrap();
        std::fs::create_dir(dir.join("bay")).unwrap();
        let Some(bay) = Bay::new(&dir.join("bay")) else {
            remove(&dir);
            return None;
        };
        let watchdog = Watchdog::new(&dir.join("bay"));
        Some(Workshop { dir, bay, _watchdog: watchdog })
    }

    /// A directory of this name for whoever mounts something.
    fn dir(&self, name: &str) -> PathBuf {
        let dir = self.dir.join(name);
        std::fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// Makes a file system on a disk, or says that there is no program for that.
    pub fn format(&self, machine: &Arc<Machine>, disk: usize, (kind, options): (&str, &[&str])) -> bool {
        let slot = self.bay.insert(machine, disk);
        let is_made = succeeds(Command::new(format!("mkfs.{kind}")).args(options).arg(&slot.path));
        if !is_made {
            println!("skipped for {kind}: mkfs.{kind} cannot be run");
        }
        is_made
    }

    /// A disk as a block device.
    pub fn attach(&self, machine: &Arc<Machine>, disk: usize) -> Attached {
        let slot = self.bay.insert(machine, disk);
        let attached = AttachedLoop::new(&slot.path).unwrap();
        Attached { path: attached.path.clone(), _attached: attached, _slot: slot }
    }

    /// Mounts a disk; the kernel recovers its file system.
    pub fn mount(&self, machine: &Arc<Machine>, disk: usize, how: (&str, &str)) -> MountedDisk {
        let mounted = self.try_mount(machine, disk, how);
        mounted.unwrap_or_else(|error| panic!("cannot mount {}: {error}; the kernel says:\n{}", how.0, kernel_log()))
    }

    /// The same, with the error if the kernel cannot recover the file system.
    pub fn try_mount(
        &self,
        machine: &Arc<Machine>,
        disk: usize,
        (kind, options): (&str, &str),
    ) -> Result<MountedDisk, Errno> {
        let (attached, dir) = (self.attach(machine, disk), self.dir(&format!("disk-{disk}")));
        let options = CString::new(options).unwrap();
        mount(&attached.path, &dir, kind, MountFlags::NOATIME, Some(options.as_c_str()))?;
        Ok(MountedDisk { dir, _attached: attached })
    }
}

impl Workshop {
    /// Has `e2fsck` repair a file system that has no journal.
    pub fn repair(&self, machine: &Arc<Machine>, disk: usize) {
        let slot = self.bay.insert(machine, disk);
        let checked = Command::new("e2fsck").args(["-f", "-y"]).arg(&slot.path).output().unwrap();
        // 1: errors were corrected.
        assert!(checked.status.code() <= Some(1), "{}", String::from_utf8_lossy(&checked.stdout));
    }

    /// Mounts an overlay: its upper layer is a directory of a disk, and the lower one is in memory and empty.
    pub fn mount_overlay(&self, disk: &MountedDisk, upper: &str) -> Overlay {
        let (lower, dir) = (self.dir("lower"), self.dir("overlay"));
        let (upper, work) = (disk.dir.join(upper), disk.dir.join("work"));
        std::fs::create_dir_all(&work).unwrap();
        let options = format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
        let options = CString::new(options).unwrap();
        mount("overlay", &dir, "overlay", MountFlags::NOATIME, Some(options.as_c_str())).unwrap();
        Overlay { dir }
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let _ = unmount(self.dir.join("bay"), UnmountFlags::DETACH);
        remove(&self.dir);
    }
}

fn remove(dir: &Path) {
    let _ = unmount(dir, UnmountFlags::DETACH);
    let _ = std::fs::remove_dir(dir);
}

/// A block device over a disk. The kernel takes it apart when this is gone and nobody has it open.
pub struct Attached {
    pub path: PathBuf,
    _attached: AttachedLoop,
    _slot: Slot,
}

/// A mounted file system.
pub struct MountedDisk {
    pub dir: PathBuf,
    _attached: Attached,
}

/// A mounted overlay.
pub struct Overlay {
    pub dir: PathBuf,
}

impl Drop for Overlay {
    fn drop(&mut self) {
        unmount_soon(&self.dir);
    }
}

impl Drop for MountedDisk {
    fn drop(&mut self) {
        unmount_soon(&self.dir);
    }
}

/// The last lines of the kernel's log.
fn kernel_log() -> String {
    let log = Command::new("dmesg").output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let log = log.unwrap_or_default();
    let lines: Vec<_> = log.lines().rev().take(10).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
