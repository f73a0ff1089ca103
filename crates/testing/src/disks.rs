//! File systems on loop devices over files in memory: a power failure is a copy of such a file, and when the memory is
//! full, data that the file system writes fails.
//!
//! Everything is in a mount namespace of the thread that makes the disk, and goes with it: mounts at its end, and loop
//! devices with the last one that uses them.

use std::ffi::CString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CloneFlags, unshare};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, mount_remount, unmount};

/// How long threads that have ended their work may still keep a file system busy.
const BUSY_FOR_A_MOMENT: Duration = Duration::from_secs(20);

/// A file system that has discarded nothing for so long has discarded everything.
const DISCARDING: Duration = Duration::from_millis(100);

/// What `mkfs` of an ext file system is to leave out, and what it is to do at once.
const EXT_OPTIONS: &str = "nodiscard,lazy_itable_init=0";

/// How to make and mount a file system.
#[derive(Debug, Clone, Copy)]
pub struct DiskKind {
    /// The program `mkfs.NAME`, and the type to mount.
    pub name: &'static str,
    pub mkfs: &'static [&'static str],
    pub mount: &'static str,
    pub size_bytes: u64,
    /// Whether the file system has no journal, so that `e2fsck` repairs it after a power failure.
    pub needs_check: bool,
}

impl DiskKind {
    pub const EXT4: DiskKind = DiskKind {
        name: "ext4",
        mkfs: &["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
        mount: "commit=300",
        size_bytes: 48 << 20,
        needs_check: false,
    };
    pub const EXT4_WITHOUT_JOURNAL: DiskKind = DiskKind {
        mkfs: &["-q", "-F", "-E", EXT_OPTIONS, "-O", "^has_journal"],
        mount: "",
        needs_check: true,
        ..DiskKind::EXT4
    };
    pub const EXT4_FAST_COMMIT: DiskKind =
        DiskKind { mkfs: &["-q", "-F", "-E", EXT_OPTIONS, "-O", "fast_commit"], ..DiskKind::EXT4 };
    pub const EXT2: DiskKind = DiskKind {
        name: "ext2",
        mkfs: &["-q", "-F", "-E", EXT_OPTIONS],
        mount: "",
        needs_check: true,
        ..DiskKind::EXT4
    };
    pub const EXT3: DiskKind = DiskKind { name: "ext3", mkfs: &["-q", "-F", "-E", EXT_OPTIONS], ..DiskKind::EXT4 };
    pub const XFS: DiskKind =
        DiskKind { name: "xfs", mkfs: &["-q", "-f"], mount: "nouuid", size_bytes: 300 << 20, needs_check: false };
    pub const BTRFS: DiskKind =
        DiskKind { name: "btrfs", mkfs: &["-q", "-f"], mount: "commit=300", size_bytes: 256 << 20, needs_check: false };
}

/// A file system of its own, mounted.
pub struct LoopDisk {
    base: PathBuf,
    kind: DiskKind,
    cuts: AtomicU32,
    mounted: Option<Mounted>,
}

/// A mounted file system.
pub struct Mounted {
    dir: PathBuf,
    _attached: AttachedLoop,
}

/// A loop device that the kernel takes apart when this is gone and nobody has it open.
pub struct AttachedLoop {
    pub path: PathBuf,
    _open: File,
}

impl LoopDisk {
    /// Makes the file system, or says why that cannot be done here and gives `None`.
    pub fn new(kind: DiskKind) -> Option<LoopDisk> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        if !enter_mount_namespace() {
            return None;
        }
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let base = std::env::temp_dir().join(format!("wharf-disk-{}-{number}", std::process::id()));
        std::fs::create_dir(&base).unwrap();
        mount("none", &base, "tmpfs", MountFlags::empty(), Some(c"size=1g")).unwrap();
        let mut disk = LoopDisk { base, kind, cuts: AtomicU32::new(0), mounted: None };
        disk.mounted = Some(disk.make()?);
        Some(disk)
    }

    fn make(&self) -> Option<Mounted> {
        let image = self.image();
        let size = self.kind.size_bytes;
        File::create(&image).unwrap().set_len(size).unwrap();
        let mkfs = format!("mkfs.{}", self.kind.name);
        if !succeeds(Command::new(&mkfs).args(self.kind.mkfs).arg(&image)) {
            println!("skipped for {}: {mkfs} fails or is missing", self.kind.name);
            return None;
        }
        let Some(attached) = AttachedLoop::new(&image) else {
            println!("skipped for {}: there are no loop devices", self.kind.name);
            return None;
        };
        match Mounted::new(attached, self.base.join("mnt"), self.kind) {
            Ok(mounted) => Some(mounted),
            Err(error) => {
                println!("skipped for {}: this kernel does not mount it: {error}", self.kind.name);
                None
            }
        }
    }

    /// Where the file system is mounted.
    pub fn dir(&self) -> &Path {
        &self.mounted.as_ref().unwrap().dir
    }

    /// A directory beside the file system, in memory.
    pub fn beside(&self, name: &str) -> PathBuf {
        let dir = self.base.join(name);
        crate::private_dir(&dir);
        dir
    }

    /// Unmounts the file system and mounts it again, so that its memory of inodes and pages is empty.
    pub fn remount(&mut self) {
        drop(self.mounted.take());
        let attached = AttachedLoop::new(&self.image()).unwrap();
        self.mounted = Some(Mounted::new(attached, self.base.join("mnt"), self.kind).unwrap());
    }

    /// Lets all writes to blocks fail that the file system does not use now. Those in use, such as the journal, have
    /// room.
    pub fn fail_new_blocks(&self) {
        rustix::fs::fallocate(self.open_image(), rustix::fs::FallocateFlags::empty(), 0, self.kind.size_bytes).unwrap();
        assert!(succeeds(Command::new("fstrim").arg(self.dir())), "fstrim fails");
        self.resize(self.settled_bytes());
    }

    /// How much memory the image takes, when file systems that discard in the background have done so.
    fn settled_bytes(&self) -> u64 {
        let used_bytes = || {
            let used = rustix::fs::statvfs(&self.base).unwrap();
            (used.f_blocks - used.f_bfree) * used.f_frsize
        };
        loop {
            let before = used_bytes();
            thread::sleep(DISCARDING);
            if used_bytes() == before {
                return before;
            }
        }
    }

    /// Lets writes succeed again.
    pub fn repair(&self) {
        self.resize(1 << 30);
    }

    fn resize(&self, bytes: u64) {
        let data = CString::new(format!("size={bytes}")).unwrap();
        mount_remount(&self.base, MountFlags::empty(), data.as_c_str()).unwrap();
    }

    /// What the disk holds if the power fails now, in a file.
    pub fn copy_image(&self) -> PathBuf {
        let copy = self.base.join("copy");
        let run = |program: &mut Command| succeeds(program.arg(self.image()).arg(&copy));
        // A file system that writes meanwhile leaves parts of different moments, which no power failure does.
        let mut is_of_one_moment = false;
        while !is_of_one_moment {
            assert!(run(Command::new("cp").arg("--sparse=always")), "cp fails");
            is_of_one_moment = run(Command::new("cmp").arg("--quiet"));
        }
        if self.kind.needs_check {
            check(&copy);
        }
        copy
    }

    /// Mounts what a power failure has left in the place of the file system, which nobody uses.
    pub fn replace_image(&mut self, left: PathBuf) {
        drop(self.mounted.take());
        std::fs::rename(left, self.image()).unwrap();
        self.remount();
    }

    /// What the next start of the machine finds if the power fails now.
    pub fn after_power_failure(&self) -> Mounted {
        let number = self.cuts.fetch_add(1, Ordering::Relaxed);
        let copy = self.copy_image();
        let mount =
            || Mounted::new(AttachedLoop::new(&copy).unwrap(), self.base.join(format!("cut-{number}")), self.kind);
        let mounted = mount().or_else(|error| {
            // Linux may fail to recover fast commits, which e2fsck recovers.
            assert!(error == Errno::UCLEAN && self.kind.mkfs.contains(&"fast_commit"), "{error}");
            check(&copy);
            mount()
        });
        std::fs::remove_file(&copy).unwrap();
        mounted.unwrap()
    }

    fn image(&self) -> PathBuf {
        self.base.join("image")
    }

    fn open_image(&self) -> File {
        File::options().write(true).open(self.image()).unwrap()
    }
}

/// Checks and repairs an image.
fn check(image: &Path) {
    let checked = Command::new("e2fsck").arg("-fy").arg(image).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.code().is_some_and(|status| status <= 1), "{said}");
    println!("e2fsck: {said}");
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        drop(self.mounted.take());
        let _ = unmount(&self.base, UnmountFlags::DETACH);
        let _ = std::fs::remove_dir(&self.base);
    }
}

impl Mounted {
    fn new(attached: AttachedLoop, dir: PathBuf, kind: DiskKind) -> Result<Mounted, Errno> {
        std::fs::create_dir_all(&dir).unwrap();
        let options = CString::new(kind.mount).unwrap();
        mount(&attached.path, &dir, kind.name, MountFlags::NOATIME, Some(options.as_c_str()))?;
        Ok(Mounted { dir, _attached: attached })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount_soon(&self.dir);
    }
}

impl AttachedLoop {
    /// The file as a block device; `None` where there are no loop devices.
    pub fn new(image: &Path) -> Option<AttachedLoop> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output().ok()?;
        if !output.status.success() {
            return None;
        }
        let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        let open = File::open(&path).unwrap();
        // It is detached when the last one closes it, whatever becomes of this process.
        assert!(succeeds(Command::new("losetup").arg("--detach").arg(&path)), "losetup fails");
        Some(AttachedLoop { path, _open: open })
    }
}

/// Gives this thread mounts of its own, or says that this cannot be done.
pub fn enter_mount_namespace() -> bool {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    let is_done = unshare(CloneFlags::CLONE_NEWNS).is_ok() && mount_change("/", private).is_ok();
    if !is_done {
        println!("skipped: only the superuser can make mount namespaces");
    }
    is_done
}

/// Unmounts a file system as soon as nobody uses it.
pub fn unmount_soon(dir: &Path) {
    let end = Instant::now() + BUSY_FOR_A_MOMENT;
    while let Err(error) = unmount(dir, UnmountFlags::empty()) {
        if error == Errno::BUSY && Instant::now() < end {
            thread::sleep(Duration::from_millis(5));
            continue;
        }
        println!("cannot unmount {}: {error}", dir.display());
        let _ = unmount(dir, UnmountFlags::DETACH);
        break;
    }
}

pub fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
