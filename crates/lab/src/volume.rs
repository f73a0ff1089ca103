//! File systems on loop devices.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{env, thread};

use nix::sched::{CloneFlags, unshare};

use crate::tool::{ToolError, run};

/// A kind of file system that a volume can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum VolumeKind {
    Ext4,
    Xfs,
    Btrfs,
    Ext3,
}

/// A file system in a file, mounted where only this thread and its children see it. Nothing of it stays when they end.
#[derive(Debug)]
pub(crate) struct Volume {
    directory: PathBuf,
    device: String,
}

/// XFS refuses anything much smaller.
const MIN_IMAGE_BYTES: u64 = 512 << 20;

impl VolumeKind {
    pub(crate) const ALL: [VolumeKind; 4] = [VolumeKind::Ext4, VolumeKind::Xfs, VolumeKind::Btrfs, VolumeKind::Ext3];

    /// What mount(8) calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            VolumeKind::Ext4 => "ext4",
            VolumeKind::Xfs => "xfs",
            VolumeKind::Btrfs => "btrfs",
            VolumeKind::Ext3 => "ext3",
        }
    }

    /// The program that makes it, and what it is told. Blocks have the size of pages, even on a small device.
    fn maker(self) -> (&'static str, &'static [&'static str]) {
        match self {
            VolumeKind::Ext4 => ("mkfs.ext4", &["-q", "-F", "-b", "4096", "-m", "0"]),
            VolumeKind::Xfs => ("mkfs.xfs", &["-q", "-f"]),
            VolumeKind::Btrfs => ("mkfs.btrfs", &["-q", "-f"]),
            VolumeKind::Ext3 => ("mkfs.ext3", &["-q", "-F", "-b", "4096", "-m", "0"]),
        }
    }

    /// Why this machine has none of this kind, if it has none.
    pub(crate) fn missing(self) -> Option<String> {
        let (program, name) = (self.maker().0, self.name());
        let kinds = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        if !kinds.split_whitespace().any(|kind| kind == name) {
            return Some(format!("{name}: this kernel has none"));
        }
        let folders = env::var_os("PATH").unwrap_or_default();
        let is_found = env::split_paths(&folders).any(|folder| folder.join(program).exists());
        (!is_found).then(|| format!("{name}: there is no {program}; install it"))
    }
}

/// Whether this program may make loop devices and mount them: tried by a thread that ends with what it made.
pub(crate) fn is_permitted() -> bool {
    let has_control = OpenOptions::new().read(true).write(true).open("/dev/loop-control").is_ok();
    has_control && thread::spawn(|| unshare(CloneFlags::CLONE_NEWNS).is_ok()).join().unwrap_or(false)
}

/// Has mounts of this thread and its children be seen by nobody else from now on.
pub(crate) fn hide_mounts() -> Result<(), ToolError> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(|errno| ToolError::Namespace(io::Error::from(errno)))?;
    run("mount", &["--make-rprivate", "/"]).map(drop)
}

impl Volume {
    /// Makes a volume with room for so many bytes of files. Its image lies in `folder`, and bypasses the page cache, so
    /// that what is out of the volume's memory is on the disk.
    pub(crate) fn new(kind: VolumeKind, folder: &Path, bytes: u64) -> Result<Volume, ToolError> {
        let image = folder.join(format!("{}.image", kind.name()));
        let directory = folder.join(kind.name());
        let made = File::create(&image).and_then(|file| file.set_len(image_bytes(bytes)));
        made.and_then(|()| fs::create_dir_all(&directory)).map_err(|error| ToolError::Failed {
            command: format!("create {}", image.display()),
            said: error.to_string(),
        })?;
        let (maker, arguments) = kind.maker();
        run(maker, &[arguments, &[&image.to_string_lossy()]].concat())?;
        Volume::mount(kind, "noatime", &image, directory)
    }

    /// Makes an ext4 on a disk that is a file, and mounts it on a directory.
    ///
    /// Like the file systems of disks without a cache, it has no journal, and flushes nothing but its own data. All of
    /// it is made at once, so that the kernel completes nothing later.
    pub(crate) fn on_disk(image: &Path, directory: PathBuf) -> Result<Volume, ToolError> {
        let options = ["-E", "nodiscard,lazy_itable_init=0", "-O", "^has_journal", "-N", "1024"];
        let (maker, arguments) = VolumeKind::Ext4.maker();
        run(maker, &[arguments, &options, &[&image.to_string_lossy()]].concat())?;
        Volume::mount(VolumeKind::Ext4, "noatime,nobarrier", image, directory)
    }

    fn mount(kind: VolumeKind, options: &str, image: &Path, directory: PathBuf) -> Result<Volume, ToolError> {
        let device = run("losetup", &["--find", "--show", "--direct-io=on", &image.to_string_lossy()])?;
        let mounted = run("mount", &["-t", kind.name(), "-o", options, &device, &directory.to_string_lossy()]);
        let numbers = numbers(&device);
        // A device that is in use is detached when it is unmounted, however that comes about.
        run("losetup", &["--detach", &device])?;
        mounted?;
        let device = numbers.map_err(|error| ToolError::Failed { command: device, said: error.to_string() })?;
        Ok(Volume { directory, device })
    }

    /// The numbers of its device.
    pub(crate) fn device(&self) -> &str {
        &self.device
    }

    /// Where it is mounted.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let directory = self.directory.to_string_lossy();
        if run("umount", &[&directory]).is_err() {
            // What is still in use goes with the last process that uses it.
            let _ = run("umount", &["--lazy", &directory]);
        }
    }
}

/// The numbers of a device, as `/sys` and cgroups have them.
fn numbers(device: &str) -> io::Result<String> {
    let rdev = fs::metadata(device)?.rdev();
    Ok(format!("{}:{}", rustix::fs::major(rdev), rustix::fs::minor(rdev)))
}

/// The size of an image: the files, and room for what the file system keeps itself.
pub(crate) fn image_bytes(bytes: u64) -> u64 {
    (bytes + bytes / 4 + (128 << 20)).max(MIN_IMAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_of_each_kind_has_its_file_system_and_leaves_nothing_behind() {
        if !is_permitted() {
            println!("skipped: loop devices need root");
            return;
        }
        let folder = env::temp_dir().join(format!("wharf-volume-test-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        hide_mounts().unwrap();
        for kind in VolumeKind::ALL {
            if let Some(reason) = kind.missing() {
                println!("skipped: {reason}");
                continue;
            }
            let volume = Volume::new(kind, &folder, 1 << 20).unwrap();
            let mounts = fs::read_to_string("/proc/thread-self/mounts").unwrap();
            let line = mounts.lines().find(|line| line.contains(&*volume.directory().to_string_lossy())).unwrap();
            assert!(line.contains(&format!(" {} ", kind.name())), "{line}");
            fs::write(volume.directory().join("file"), "x").unwrap();
            let directory = volume.directory().to_owned();
            drop(volume);
            assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
