//! The exported directory and what is known of the file system that it is on.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, Statx};
use vfs::{Error, FileKind, Properties, Result, Space};

use crate::acl;
use crate::attributes;
use crate::failure::failed;
use crate::xattr;

const TMPFS_MAGIC: u64 = 0x0102_1994;
const RAMFS_MAGIC: u64 = 0x8584_58f6;
const EXT_MAGIC: u64 = 0xef53;
const XFS_MAGIC: u64 = 0x5846_5342;
const BTRFS_MAGIC: u64 = 0x9123_683e;

/// The exported directory, and its file system.
#[derive(Debug)]
pub(crate) struct Volume {
    root: OwnedFd,
    /// The device number, which is the `fsid` of everything in the export.
    pub(crate) device: u64,
    /// The mount that the directory was reached by, or 0 where the kernel does not say.
    mount_id: u64,
    /// The root directory's number.
    pub(crate) root_fileid: u64,
    /// Whether the file system is memory, where nothing ever waits for storage and nothing survives a power cut.
    pub(crate) is_memory: bool,
    /// Whether files may have access lists.
    pub(crate) has_acls: bool,
    /// Whether files may have extended attributes of the user's.
    has_xattrs: bool,
    magic: u64,
}

impl Volume {
    /// Opens the directory and asks for everything that stays the same.
    pub(crate) fn open(path: &Path) -> rustix::io::Result<Volume> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
        let stat = attributes::raw_stat_fd(root.as_fd())?;
        // The type of this field differs between architectures, the bits do not.
        let magic = u64::from(rustix::fs::fstatfs(&root)?.f_type as u32);
        Ok(Volume {
            device: attributes::device(&stat),
            mount_id: stat.stx_mnt_id,
            root_fileid: stat.stx_ino,
            is_memory: matches!(magic, TMPFS_MAGIC | RAMFS_MAGIC),
            has_acls: acl::is_supported(root.as_fd()),
            has_xattrs: xattr::is_supported(root.as_fd()),
            magic,
            root,
        })
    }

    /// The exported directory, opened for reading.
    pub(crate) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Whether this is the exported directory itself.
    pub(crate) fn is_root(&self, stat: &Statx) -> bool {
        stat.stx_ino == self.root_fileid && self.holds(stat) && attributes::device(stat) == self.device
    }

    /// Whether a file is of this export's file system and was reached without crossing into another mount.
    ///
    /// Only a directory's device is compared: an overlay shows files under the devices of its layers.
    pub(crate) fn holds(&self, stat: &Statx) -> bool {
        let is_directory = attributes::kind(stat) == FileKind::Directory;
        stat.stx_mnt_id == self.mount_id && (!is_directory || attributes::device(stat) == self.device)
    }

    /// Refuses what another file system is mounted on: its files are not this export's, and what the mount hides is
    /// not to be seen either.
    pub(crate) fn check(&self, stat: &Statx) -> Result<()> {
        if self.holds(stat) { Ok(()) } else { Err(Error::AccessDenied) }
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
        Properties { max_links, max_file_bytes, xattrs: self.has_xattrs, acls: self.has_acls, ..Properties::default() }
    }

    /// How full the file system is.
    pub(crate) fn space(&self) -> Result<Space> {
        let space = rustix::fs::fstatvfs(&self.root).map_err(failed)?;
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
