//! What `statx` says, in neutral terms.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, StatxTimestamp};
use vfs::{Attributes, Device, Error, FileKind, Result, Timestamp};

use crate::failure::failed;

const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::BTIME).union(StatxFlags::MNT_ID);

/// How much space one call takes or frees on a thread that may not wait: more takes a while even in memory, where pages
/// are cleared and freed one by one.
pub(crate) const MAX_SPACE_ON_LOOP_BYTES: u64 = 4 << 20;

/// The unit of `stx_blocks`, whatever the file system's block size is.
pub(crate) const BLOCK_BYTES: u64 = 512;

/// Asks for everything about what a descriptor stands for.
pub(crate) fn stat_fd(fd: BorrowedFd<'_>) -> Result<Statx> {
    raw_stat_fd(fd).map_err(failed)
}

/// The same, with the system's own error.
pub(crate) fn raw_stat_fd(fd: BorrowedFd<'_>) -> rustix::io::Result<Statx> {
    rustix::fs::statx(fd, c"", AtFlags::EMPTY_PATH, WANTED)
}

/// Asks for everything about a name; a symbolic link is not followed and nothing is mounted for it.
pub(crate) fn stat_name(dir: BorrowedFd<'_>, name: &CStr) -> Result<Statx> {
    rustix::fs::statx(dir, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, WANTED).map_err(failed)
}

/// The kind of file.
pub(crate) fn kind(stat: &Statx) -> FileKind {
    kind_of(FileType::from_raw_mode(stat.stx_mode.into())).unwrap_or(FileKind::Regular)
}

/// Only a regular file has bytes.
pub(crate) fn check_regular(kind: FileKind) -> Result<()> {
    match kind {
        FileKind::Regular => Ok(()),
        FileKind::Directory => Err(Error::IsDirectory),
        _ => Err(Error::WrongKind),
    }
}

/// The kind of file of a type; `None` when the kernel did not say the type.
pub(crate) fn kind_of(file_type: FileType) -> Option<FileKind> {
    Some(match file_type {
        FileType::RegularFile => FileKind::Regular,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        FileType::BlockDevice => FileKind::BlockDevice,
        FileType::CharacterDevice => FileKind::CharDevice,
        FileType::Fifo => FileKind::Fifo,
        FileType::Socket => FileKind::Socket,
        FileType::Unknown => return None,
    })
}

/// The device number of the file system.
pub(crate) fn device(stat: &Statx) -> u64 {
    rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor)
}

/// The attributes, said to be of the file system `fsid`: an export is one file system to its clients, even where the
/// host shows the layers of an overlay as several devices.
pub(crate) fn from_statx(stat: &Statx, fsid: u64) -> Attributes {
    Attributes {
        kind: kind(stat),
        mode: u32::from(stat.stx_mode) & 0o7777,
        links: stat.stx_nlink,
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        size_bytes: stat.stx_size,
        used_bytes: stat.stx_blocks * BLOCK_BYTES,
        device: Device { major: stat.stx_rdev_major, minor: stat.stx_rdev_minor },
        fsid,
        fileid: stat.stx_ino,
        accessed: timestamp(stat.stx_atime),
        modified: timestamp(stat.stx_mtime),
        changed: timestamp(stat.stx_ctime),
        created: (stat.stx_mask & StatxFlags::BTIME.bits() != 0).then(|| timestamp(stat.stx_btime)),
        change: change(stat),
    }
}

/// A time, in neutral terms.
pub(crate) fn timestamp(time: StatxTimestamp) -> Timestamp {
    Timestamp { seconds: time.tv_sec, nanoseconds: time.tv_nsec }
}

/// A number that changes with the file.
///
/// The kernel keeps a change counter to itself, so this mixes what it does show. The change time alone is not enough:
/// before Linux 6.13, and on file systems without fine time stamps, two changes within one tick (up to 10 ms) carry the
/// same time. Size, modification time and link count tell most of those apart.
fn change(stat: &Statx) -> u64 {
    let parts = [nanoseconds(stat.stx_ctime), nanoseconds(stat.stx_mtime), stat.stx_size, u64::from(stat.stx_nlink)];
    parts.into_iter().fold(0, mix)
}

fn nanoseconds(time: StatxTimestamp) -> u64 {
    time.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec.into())
}

/// One step of a mixing function: a bijection of `value` for every `sum`, so that a change of one part alone always
/// shows.
pub(crate) fn mix(sum: u64, value: u64) -> u64 {
    let mixed = (sum ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}
