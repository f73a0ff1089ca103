//! The exported directory and what is known of the file system that it is on.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, Statx, StatxFlags, fstatvfs};
use rustix::io::Errno;
use vfs::{Error, FileKind, Memory, Origin, Properties, Result, Space, Timestamp};

use crate::attributes::{self, mix};
use crate::borders::Borders;
use crate::failure::failed;
use crate::flush::{SyncDoubt, WholeFlush, is_read_only, whole_flushes_report_failures};
use crate::mounts::Mount;
use crate::posix_acl;
use crate::storage_rules::{StorageRules, mounted_as};
use crate::store::fnv;
use crate::sys;

/// A random number that the kernel draws when it starts.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Counts and times of the system.
const SYSTEM: &str = "/proc/stat";

/// An attribute that no file has: asking for it tells whether there could be one.
const XATTR_PROBE: &CStr = c"user.wharf.probe";

pub(crate) const TMPFS_MAGIC: u64 = 0x0102_1994;
pub(crate) const RAMFS_MAGIC: u64 = 0x8584_58f6;
pub(crate) const OVERLAY_MAGIC: u64 = 0x794c_7630;
const EXT_MAGIC: u64 = 0xef53;
const XFS_MAGIC: u64 = 0x5846_5342;
const BTRFS_MAGIC: u64 = 0x9123_683e;

const F2FS_MAGIC: u64 = 0xf2f5_2010;

/// Where the bytes of an open file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheKind {
    /// In memory only.
    Memory,
    /// On a local disk, and in the page cache as far as cachestat(2) says.
    Pages,
    /// Reading a cached page may wait for something: of a network's file system, it may be revalidated first.
    Unknown,
}

/// The exported directory, and its file system.
#[derive(Debug)]
pub(crate) struct HostVolume {
    root: OwnedFd,
    whole: WholeFlush,
    /// Whether [`HostVolume::sync`] gets to know all failures.
    pub(crate) reports_failures: bool,
    /// What the kernel calls the file system.
    pub(crate) file_system: String,
    /// What brings changes to storage.
    pub(crate) rules: StorageRules,
    /// See [`HostVolume::memory`].
    memory: Option<Memory>,
    /// The device number, which is the `fsid` of everything in the export.
    pub(crate) device: u64,
    /// The mount that the directory was reached by, or 0 where the kernel does not say.
    mount_id: u64,
    /// The root directory's number.
    pub(crate) root_fileid: u64,
    /// What tells the root directory from a later one with the same number.
    birth: u64,
    /// Where other exports begin.
    pub(crate) borders: Borders,
    /// Whether the file system is memory, where nothing ever waits for storage and nothing survives a power cut.
    pub(crate) is_memory: bool,
    /// Whether files may have access lists.
    pub(crate) has_acls: bool,
    /// Whether files may have extended attributes of the user's.
    has_xattrs: bool,
    /// As [`Properties::late_zeros_bytes`].
    late_zeros_bytes: u32,
    magic: u64,
}

impl HostVolume {
    /// Opens the directory and asks for everything that stays the same.
    pub(crate) fn open(path: &Path) -> rustix::io::Result<HostVolume> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        let stat = attributes::raw_stat_fd(root.as_fd())?;
        // The type of this field differs between architectures, the bits do not.
        let magic = u64::from(rustix::fs::fstatfs(&root)?.f_type as u32);
        let (device, is_memory) = (attributes::device(&stat), matches!(magic, TMPFS_MAGIC | RAMFS_MAGIC));
        let file_system =
            Mount::of(stat.stx_mnt_id).map_or_else(|| type_of(magic).to_owned(), |mount| mount.file_system);
        let space = fstatvfs(&root)?;
        let mounted = mounted_as(&file_system, stat.stx_dev_major, stat.stx_dev_minor, space.f_fsid);
        Ok(HostVolume {
            rules: StorageRules::of(&file_system, stat.stx_dev_major, stat.stx_dev_minor),
            memory: if is_memory { None } else { page_cache(device, mounted) },
            file_system,
            whole: WholeFlush::new(reopened(&root)?, sync_doubt(magic)),
            reports_failures: whole_flushes_report_failures(),
            device,
            mount_id: stat.stx_mnt_id,
            root_fileid: stat.stx_ino,
            birth: birth(root.as_fd(), &stat),
            borders: Borders::default(),
            is_memory,
            has_acls: posix_acl::is_supported(root.as_fd()),
            has_xattrs: keeps_xattrs(root.as_fd()),
            late_zeros_bytes: if magic == BTRFS_MAGIC { space.f_bsize as u32 } else { 0 },
            magic,
            root,
        })
    }

    /// The exported directory, opened for reading.
    pub(crate) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Refuses to flush the whole file system where failures are hidden: lost changes would be taken for stored.
    pub(crate) fn check_reports_failures(&self) -> Result<()> {
        if self.reports_failures { Ok(()) } else { Err(Error::NotSupported) }
    }

    /// Brings all changes of the file system, by whomever, to storage. An error of an earlier write is reported once.
    ///
    /// # Errors
    /// [`Error::NotSupported`] on XFS where no file can be opened to flush the disk's write cache.
    pub(crate) fn sync(&self) -> Result<()> {
        self.whole.flush().map_err(failed)
    }

    /// Where the bytes of open files are.
    pub(crate) fn cache_kind(&self) -> CacheKind {
        match self.magic {
            TMPFS_MAGIC | RAMFS_MAGIC => CacheKind::Memory,
            EXT_MAGIC | XFS_MAGIC | BTRFS_MAGIC | F2FS_MAGIC => CacheKind::Pages,
            _ => CacheKind::Unknown,
        }
    }

    /// Whether the file system is a local one whose times prove what is known of its files (`metadata/mod.rs`).
    ///
    /// A file system of a network or of FUSE changes elsewhere, and an overlay shows the times of its layers.
    pub(crate) fn keeps_times(&self) -> bool {
        matches!(self.magic, TMPFS_MAGIC | EXT_MAGIC | XFS_MAGIC | BTRFS_MAGIC)
    }

    /// Whether an inode number alone tells a file from those that are made soon after it is gone: tmpfs counts inodes,
    /// and starts again after 2³² of them at the earliest. Other file systems use a number again at once.
    pub(crate) fn counts_inodes(&self) -> bool {
        self.magic == TMPFS_MAGIC
    }

    /// The page cache with what was changed here: of one start of the machine, one device, and one time that its file
    /// system was mounted.
    pub(crate) fn memory(&self) -> Option<Memory> {
        self.memory
    }

    /// Another flush of the whole file system: it reports also errors that [`HostVolume::sync`] has reported.
    pub(crate) fn whole_flush(&self) -> rustix::io::Result<WholeFlush> {
        Ok(WholeFlush::new(reopened(&self.root)?, sync_doubt(self.magic)))
    }

    /// Where the export begins.
    pub(crate) fn origin(&self) -> Origin {
        Origin { device: self.device, fileid: self.root_fileid, birth: self.birth }
    }

    /// Whether `other` is the same directory, reached by the same mount.
    pub(crate) fn is_at(&self, other: &HostVolume) -> bool {
        self.origin() == other.origin() && self.mount_id == other.mount_id
    }

    /// Whether this is the exported directory itself.
    pub(crate) fn is_root(&self, stat: &Statx) -> bool {
        stat.stx_ino == self.root_fileid && self.is_own(stat) && attributes::device(stat) == self.device
    }

    /// Whether a file is of this export: of its file system, reached without crossing into another mount, and not where
    /// another export begins.
    pub(crate) fn holds(&self, stat: &Statx) -> bool {
        self.is_own(stat) && self.borders.at(stat).is_none()
    }

    /// Whether a file is of this export's file system and was reached without crossing into another mount.
    ///
    /// Only a directory's device is compared: an overlay shows files under the devices of its layers.
    fn is_own(&self, stat: &Statx) -> bool {
        let is_directory = attributes::kind(stat) == FileKind::Directory;
        stat.stx_mnt_id == self.mount_id && (!is_directory || attributes::device(stat) == self.device)
    }

    /// Refuses where another export begins, and what another file system is mounted on: its files are not this
    /// export's, and what the mount hides is not to be seen either.
    pub(crate) fn check(&self, stat: &Statx) -> Result<()> {
        match self.borders.at(stat) {
            Some(origin) => Err(Error::Elsewhere(Box::new(origin))),
            None if self.is_own(stat) => Ok(()),
            None => Err(Error::AccessDenied),
        }
    }

    /// What the file system can do.
    pub(crate) fn properties(&self) -> Properties {
        let (max_links, max_file_bytes) = match self.magic {
            // 48 bits of blocks of 4 KiB, less one block.
            EXT_MAGIC => (65_000, (1 << 44) - 4096),
            BTRFS_MAGIC => (65_535, i64::MAX.cast_unsigned()),
            XFS_MAGIC => (i32::MAX.cast_unsigned(), i64::MAX.cast_unsigned()),
            _ => (32_000, i64::MAX.cast_unsigned()),
        };
        Properties {
            max_links,
            max_file_bytes,
            xattrs: self.has_xattrs,
            acls: self.has_acls,
            late_zeros_bytes: self.late_zeros_bytes,
            ..Properties::default()
        }
    }

    /// Whether the file system, or the mount that the directory was reached by, is read-only now.
    pub(crate) fn is_read_only(&self) -> Result<bool> {
        is_read_only(&self.root).map_err(failed)
    }

    /// How full the file system is.
    pub(crate) fn space(&self) -> Result<Space> {
        let space = fstatvfs(&self.root).map_err(failed)?;
        Ok(Space {
            total_bytes: space.f_blocks * space.f_frsize,
            free_bytes: space.f_bfree * space.f_frsize,
            available_bytes: space.f_bavail * space.f_frsize,
            total_files: space.f_files,
            free_files: space.f_ffree,
            available_files: space.f_favail,
        })
    }
}

/// What a file system may be called whose mount is not shown, as in a chroot; ext4 could be any of its kind.
fn type_of(magic: u64) -> &'static str {
    match magic {
        EXT_MAGIC => "ext2",
        XFS_MAGIC => "xfs",
        BTRFS_MAGIC => "btrfs",
        F2FS_MAGIC => "f2fs",
        TMPFS_MAGIC => "tmpfs",
        RAMFS_MAGIC => "ramfs",
        _ => "unknown",
    }
}

/// The pages of a device in the memory of this machine, until it restarts or the file system is unmounted.
fn page_cache(device: u64, mounted: u64) -> Option<Memory> {
    let boot_id = std::fs::read(BOOT_ID).ok()?;
    Some(Memory { number: mix(mix(fnv(&boot_id), device), mounted), since: boot_time().unwrap_or_default() })
}

/// When the machine started, as `btime` has it (proc_stat(5)).
fn boot_time() -> Option<Timestamp> {
    let system = std::fs::read_to_string(SYSTEM).ok()?;
    let seconds = system.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()?;
    Some(Timestamp { seconds, nanoseconds: 0 })
}

fn sync_doubt(magic: u64) -> SyncDoubt {
    match magic {
        XFS_MAGIC => SyncDoubt::MayLeaveCached,
        EXT_MAGIC => SyncDoubt::MayHideFailure,
        _ => SyncDoubt::Nothing,
    }
}

/// Opens a directory once more.
fn reopened(dir: impl AsFd) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(dir, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// What tells a directory from another one with the same number: the generation in the kernel's handle, the time when
/// it was made, and the number of the file system, as far as it has them.
pub(crate) fn birth(dir: BorrowedFd<'_>, stat: &Statx) -> u64 {
    let handle = sys::name_to_handle(dir, c"", sys::EMPTY_PATH)
        .or_else(|_| sys::name_to_handle(dir, c"", sys::EMPTY_PATH | sys::IDENTIFY_ONLY));
    let by_handle = handle.map_or(0, |handle| handle.as_bytes().iter().fold(0, |sum, byte| mix(sum, u64::from(*byte))));
    let by_system = mix(by_handle, own_number(dir));
    if stat.stx_mask & StatxFlags::BTIME.bits() == 0 {
        return by_system;
    }
    mix(mix(by_system, stat.stx_btime.tv_sec.cast_unsigned()), stat.stx_btime.tv_nsec.into())
}

/// A number of the file system that it keeps wherever it is mounted, or 0. ext4 and btrfs have one, and need it: they
/// store the time when their root directory was made in seconds, and two may be made at once.
fn own_number(dir: BorrowedFd<'_>) -> u64 {
    match rustix::fs::fstatfs(dir).map_or(0, |system| u64::from(system.f_type as u32)) {
        EXT_MAGIC => fstatvfs(dir).map_or(0, |space| space.f_fsid),
        BTRFS_MAGIC => btrfs_number(dir).unwrap_or_default(),
        _ => 0,
    }
}

/// What `statvfs(3)` says of a btrfs is another number while a copy is mounted.
fn btrfs_number(dir: BorrowedFd<'_>) -> io::Result<u64> {
    // The descriptor may have been opened as a path only.
    let [first, second] = sys::btrfs_uuid(reopened(dir)?.as_fd())?;
    Ok(mix(first, second))
}

/// Whether the file system that `fd` is on keeps extended attributes of the user's.
fn keeps_xattrs(fd: BorrowedFd<'_>) -> bool {
    matches!(rustix::fs::fgetxattr(fd, XATTR_PROBE, &mut [0_u8; 1]), Ok(_) | Err(Errno::NODATA | Errno::RANGE))
}
