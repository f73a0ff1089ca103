//! What file systems need to bring changes to storage, and what a flush of all of one promises.
//!
//! docs/file-systems.md has this table for users, and the test of each row.

use std::fs::File;
use std::os::unix::fs::{DirEntryExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::flush::whole_flushes_report_failures;

/// Where ext4 has its superblock on the device, and fields in it.
const EXT_SUPERBLOCK: u64 = 1024;
const EXT_SUPERBLOCK_BYTES: usize = 0x60;
const EXT_MAGIC_AT: usize = 0x38;
const EXT_MAGIC: [u8; 2] = [0x53, 0xef];
const EXT_COMPAT_AT: usize = 0x5c;
const EXT_COMPAT_FAST_COMMIT: u32 = 0x400;

/// What `journal_task` has where there is no journal.
const NO_JOURNAL: &str = "<none>";

/// What is known of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StorageRules {
    pub(crate) new_names: NewNames,
    /// Whether one flush of the whole file system does what those of all its files do, each of which may be shared.
    pub(crate) shares_flushes: bool,
    /// Whether files are flushed with the whole file system. Linux 6.18 loses what `fsync(2)` has flushed by fast
    /// commits of ext4 or into the log tree of btrfs, if several threads change and flush files: names, sizes, bytes,
    /// and at times the journal or the log tree. `syncfs(2)` makes a full commit.
    pub(crate) flushes_whole: bool,
    /// Whether it is an ext4 with fast commits.
    pub(crate) has_fast_commit: bool,
    /// Whether the directory that a name has left is flushed before the one that the name is in now. On btrfs that
    /// brings the whole move to storage; the other one alone would bring a second name.
    pub(crate) flushes_source_first: bool,
    /// Why a flush of the whole file system proves nothing, where that is so.
    pub(crate) doubt: Option<&'static str>,
    /// Whether it is repaired after a power failure, which may remove directories that a write log builds on.
    pub(crate) lacks_journal: bool,
}

/// Which files have to be flushed after one was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewNames {
    /// The directory or the file, while nothing was set since the file was made: the journal of ext4 has the name and
    /// the new inode in one transaction. Later, the file: what was set may be in a later transaction.
    Either,
    /// The file: fsync of XFS forces the log up to the file's last change, and the name is in front of that. The
    /// directory is not enough, since a file gets the access lists that it inherits in a later transaction.
    File,
    /// Both: a fast commit of ext4 for a file that was made without a name does not have the name.
    Both,
    /// Both, and what cannot be opened with the whole file system: the directory does not bring the inodes of symbolic
    /// links and special files along. POSIX promises no more.
    Each,
}

impl StorageRules {
    /// What holds for a file system of this name, on the device of these numbers.
    pub(crate) fn of(file_system: &str, major: u32, minor: u32) -> StorageRules {
        let device = BlockDevice::new(major, minor);
        let lacks_journal = file_system == "ext2" || file_system == "ext4" && !has_journal(&device);
        let has_fast_commit = if file_system == "ext4" { has_fast_commit(&device) } else { Some(false) };
        let fsync_may_lose = file_system == "btrfs" || has_fast_commit == Some(true);
        let flushes_whole = fsync_may_lose && whole_flushes_report_failures();
        let (new_names, shares_flushes) = match file_system {
            "ext4" if lacks_journal => (NewNames::Each, true),
            "ext4" if has_fast_commit == Some(false) => (NewNames::Either, true),
            "ext4" if flushes_whole => (NewNames::File, true),
            "ext4" => (NewNames::Both, true),
            "xfs" => (NewNames::File, true),
            "btrfs" if flushes_whole => (NewNames::File, true),
            "btrfs" => (NewNames::Both, true),
            _ => (NewNames::Each, false),
        };
        let flushes_source_first = file_system == "btrfs";
        let doubt = doubt(file_system);
        StorageRules {
            new_names,
            shares_flushes,
            flushes_whole,
            has_fast_commit: has_fast_commit == Some(true),
            flushes_source_first,
            doubt,
            lacks_journal,
        }
    }
}

/// Why `syncfs(2)` may return without an error though changes are not on storage.
fn doubt(file_system: &str) -> Option<&'static str> {
    match file_system {
        "ext2" | "ext3" | "ext4" | "xfs" | "btrfs" | "tmpfs" | "ramfs" => None,
        "f2fs" => Some("F2FS reports no error when it has failed to write a checkpoint"),
        "overlay" => Some("an overlay does not report write errors of its upper layer when all of it is flushed"),
        _ if file_system == "fuseblk" || file_system.split('.').next() == Some("fuse") => {
            Some("FUSE does not pass a flush of the whole file system on")
        }
        _ => Some("this file system is not known to report all write errors when all of it is flushed"),
    }
}

/// A number that differs after the file system was unmounted and mounted again, where the kernel tells: its directory
/// in sysfs is a new one then. `fsid` is what `statvfs(3)` says: a directory of btrfs has the name of its UUID.
pub(crate) fn mounted_as(file_system: &str, major: u32, minor: u32, fsid: u64) -> u64 {
    let name = BlockDevice::new(major, minor).name;
    let of_device = |parent: &str| std::fs::metadata(Path::new(parent).join(&name)).map_or(0, |dir| dir.ino());
    match file_system {
        "ext2" | "ext3" | "ext4" => of_device("/sys/fs/ext4"),
        "xfs" => of_device("/sys/fs/xfs"),
        "btrfs" => {
            let mut all = std::fs::read_dir("/sys/fs/btrfs").into_iter().flatten().flatten();
            all.find(|dir| dir.file_name().to_str().and_then(btrfs_fsid) == Some(fsid as u32))
                .map_or(0, |dir| dir.ino())
        }
        _ => 0,
    }
}

/// The lower half of what `statvfs(3)` gives as the identity of btrfs, from the UUID: its first and third words. The
/// upper half depends on the subvolume too.
fn btrfs_fsid(uuid: &str) -> Option<u32> {
    let digits = uuid.replace('-', "");
    let word = |at: usize| u32::from_str_radix(digits.get(at..at + 8)?, 16).ok();
    Some(word(0)? ^ word(16)?)
}

/// A device by the name that the kernel has for it.
struct BlockDevice {
    name: PathBuf,
}

impl BlockDevice {
    fn new(major: u32, minor: u32) -> BlockDevice {
        let device = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok();
        BlockDevice { name: device.as_deref().and_then(Path::file_name).map(PathBuf::from).unwrap_or_default() }
    }
}

fn has_journal(device: &BlockDevice) -> bool {
    let task = std::fs::read_to_string(Path::new("/sys/fs/ext4").join(&device.name).join("journal_task"));
    task.is_ok_and(|task| task.trim() != NO_JOURNAL)
}

/// Whether the superblock asks for fast commits; `None` if the device cannot be read.
fn has_fast_commit(device: &BlockDevice) -> Option<bool> {
    let mut superblock = [0; EXT_SUPERBLOCK_BYTES];
    let file = File::open(Path::new("/dev").join(&device.name)).ok()?;
    file.read_exact_at(&mut superblock, EXT_SUPERBLOCK).ok()?;
    let compat = superblock[EXT_COMPAT_AT..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
    (superblock[EXT_MAGIC_AT..].starts_with(&EXT_MAGIC)).then_some(compat & EXT_COMPAT_FAST_COMMIT != 0)
}

#[cfg(test)]
mod tests {
    use testing::disks::{DiskKind, LoopDisk};

    use super::*;

    #[test]
    fn flush_of_everything_is_trusted_where_its_errors_are_reported() {
        for name in ["ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs"] {
            assert_eq!(StorageRules::of(name, 0, 0).doubt, None, "{name}");
        }
        for name in ["f2fs", "overlay", "fuse", "fuse.bindfs", "fuseblk", "nfs4", "unknown", ""] {
            assert!(StorageRules::of(name, 0, 0).doubt.is_some(), "{name}");
        }
    }

    #[test]
    fn ext2_and_ext4_may_lack_a_journal() {
        // There is no such device, and so no journal that is known.
        for name in ["ext2", "ext4"] {
            assert!(StorageRules::of(name, 0, 0).lacks_journal, "{name}");
        }
        for name in ["ext3", "xfs", "btrfs", "f2fs", "tmpfs"] {
            assert!(!StorageRules::of(name, 0, 0).lacks_journal, "{name}");
        }
    }

    #[test]
    fn names_are_flushed_by_themselves_where_nothing_is_known() {
        for name in ["ext2", "ext3", "f2fs", "overlay", "fuse.bindfs", "nfs4", ""] {
            assert_eq!(StorageRules::of(name, 0, 0).new_names, NewNames::Each, "{name}");
        }
        // There is no such device, and so no journal that is known.
        assert_eq!(StorageRules::of("ext4", 0, 0).new_names, NewNames::Each);
    }

    #[test]
    fn mount_of_btrfs_is_told_from_others_that_come_and_go() {
        let Some(disk) = LoopDisk::new(DiskKind::BTRFS) else { return };
        let mounted = || {
            let dir = File::open(disk.dir()).unwrap();
            mounted_as("btrfs", 0, 0, rustix::fs::fstatvfs(&dir).unwrap().f_fsid)
        };
        let before = mounted();
        assert_ne!(before, 0);
        let Some(other) = LoopDisk::new(DiskKind::BTRFS) else { return };
        assert_eq!(mounted(), before);
        drop(other);
        assert_eq!(mounted(), before);
    }
}
