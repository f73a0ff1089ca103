//! Files of this machine. These calls block, so they run on the runtime's threads for blocking calls.

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::SystemTime;

use bytes::Bytes;
use client_files::SpecialFile;
use rustix::fs::{AtFlags, CWD, OFlags, SeekFrom, Statx, StatxFlags, Timespec, Timestamps};
use vfs::{Attributes, Device, FileKind, SetAttributes, SetTime, Timestamp};

use super::error::{CopyError, LocalError};

/// The permission bits that let a directory's owner make files in it.
pub(super) const OWNER_BITS: u32 = 0o700;

/// The set-user-ID and set-group-ID bits.
const SET_IDS: u32 = 0o6000;

/// Runs blocking work outside of the asynchronous tasks.
pub(super) async fn blocking<T, F>(work: F) -> Result<T, CopyError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, LocalError> + Send + 'static,
{
    Ok(tokio::task::spawn_blocking(work).await??)
}

/// The attributes of a file in the form used everywhere here.
pub(super) fn attributes(metadata: &Metadata) -> Attributes {
    let device = metadata.rdev();
    Attributes {
        kind: kind(metadata.file_type()),
        mode: metadata.mode() & 0o7777,
        links: u32::try_from(metadata.nlink()).unwrap_or(u32::MAX),
        uid: metadata.uid(),
        gid: metadata.gid(),
        size_bytes: metadata.len(),
        used_bytes: metadata.blocks() * 512,
        device: Device { major: rustix::fs::major(device), minor: rustix::fs::minor(device) },
        fsid: metadata.dev(),
        fileid: metadata.ino(),
        accessed: timestamp(metadata.atime(), metadata.atime_nsec()),
        modified: timestamp(metadata.mtime(), metadata.mtime_nsec()),
        changed: timestamp(metadata.ctime(), metadata.ctime_nsec()),
        created: metadata.created().ok().map(Timestamp::from),
        change: 0,
    }
}

fn timestamp(seconds: i64, nanoseconds: i64) -> Timestamp {
    Timestamp { seconds, nanoseconds: u32::try_from(nanoseconds).unwrap_or_default() }
}

fn kind(file_type: std::fs::FileType) -> FileKind {
    match file_type {
        t if t.is_dir() => FileKind::Directory,
        t if t.is_symlink() => FileKind::Symlink,
        t if t.is_fifo() => FileKind::Fifo,
        t if t.is_socket() => FileKind::Socket,
        t if t.is_block_device() => FileKind::BlockDevice,
        t if t.is_char_device() => FileKind::CharDevice,
        _ => FileKind::Regular,
    }
}

/// A piece of a file.
pub(super) struct Piece {
    pub(super) offset: u64,
    pub(super) bytes: Bytes,
    /// Whether the file ends behind it.
    pub(super) is_last: bool,
}

/// The next data of `file` within `range`, or behind it if that is empty, at most `most` bytes; `None` when only a hole
/// or nothing follows.
pub(super) fn next_data(file: &File, range: Range<u64>, most: usize) -> io::Result<Option<Piece>> {
    if range.is_empty() {
        let bytes = read_at(file, range.start, most)?;
        return Ok((!bytes.is_empty()).then_some(Piece { offset: range.start, bytes, is_last: false }));
    }
    let start = match rustix::fs::seek(file, SeekFrom::Data(range.start)) {
        Ok(start) if start < range.end => start,
        Ok(_) | Err(rustix::io::Errno::NXIO) => return Ok(None),
        // Not every file system knows its holes; then everything is data.
        Err(rustix::io::Errno::INVAL) => range.start,
        Err(error) => return Err(error.into()),
    };
    let end = rustix::fs::seek(file, SeekFrom::Hole(start)).unwrap_or(u64::MAX).min(range.end);
    let most = usize::try_from(end.saturating_sub(start)).unwrap_or(most).min(most);
    let bytes = read_at(file, start, most)?;
    let end = start + bytes.len() as u64;
    // Files of the system end before the length that they state. One that was truncated states its length.
    let ends_early = bytes.len() < most && file.metadata()?.len() > end;
    if bytes.is_empty() && !ends_early {
        return Ok(None);
    }
    // The file may have grown since its length was read, and some files of the system have none.
    let is_last = ends_early || end == range.end && read_at(file, end, 1)?.is_empty();
    Ok(Some(Piece { offset: start, bytes, is_last }))
}

/// Opens a regular file to copy it, and returns what it is now.
pub(super) fn open_source(path: &Path) -> Result<(File, Attributes), LocalError> {
    let file = open_to_read(path).map_err(LocalError::wrap(path, "open"))?;
    let wrap = LocalError::wrap(path, "look at");
    let found = opened_now(&file).map_err(wrap.clone())?;
    match found.kind {
        FileKind::Regular => Ok((file, found)),
        _ => Err(wrap(io::Error::other("it is no regular file any more"))),
    }
}

/// The attributes of a file that was just opened.
fn opened_now(file: &File) -> io::Result<Attributes> {
    revalidated(|sync| rustix::fs::statx(file, "", AtFlags::EMPTY_PATH | sync, StatxFlags::BASIC_STATS))?;
    Ok(attributes(&file.metadata()?))
}

/// The attributes of an open file, as [`attributes_now`] has them.
pub(super) fn attributes_of_open(file: &File) -> io::Result<Attributes> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    match file.metadata()?.is_file().then(|| File::options().read(true).custom_flags(flags).open(path)) {
        Some(Ok(again)) => opened_now(&again),
        _ => opened_now(file),
    }
}

fn open_to_read(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32).open(path)
}

/// The attributes of a file, which a network file system asks from its server again. FUSE has no such request, but its
/// file systems ask their server when a file is opened.
pub(super) fn attributes_now(path: &Path) -> io::Result<Attributes> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    revalidated(|sync| rustix::fs::statx(CWD, path, flags | sync, StatxFlags::BASIC_STATS))?;
    let metadata = std::fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Ok(attributes(&metadata));
    }
    match open_to_read(path) {
        Ok(file) => opened_now(&file),
        // The copy of what may not be read fails.
        Err(_) => Ok(attributes(&metadata)),
    }
}

/// Has the kernel fetch attributes. Where there is no statx(2), those that it has must do.
fn revalidated(look: impl FnOnce(AtFlags) -> rustix::io::Result<Statx>) -> io::Result<()> {
    match look(AtFlags::STATX_FORCE_SYNC) {
        Ok(_) | Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Sets a file's time of modification alone.
pub(super) fn set_modified(path: &Path, time: Timestamp) -> Result<(), LocalError> {
    let last_access = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let times = Timestamps { last_access, last_modification: timespec(SetTime::To(time)) };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| LocalError::wrap(path, "set the time of modification")(error.into()))
}

/// Up to `most` bytes from `offset` on; fewer only at the end of the file.
pub(super) fn read_at(file: &File, offset: u64, most: usize) -> io::Result<Bytes> {
    let mut bytes = vec![0; most];
    let mut done = 0;
    while done < most {
        match file.read_at(&mut bytes[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(done);
    Ok(bytes.into())
}

/// Opens a file for writing: a new one, or with `overwrite` an existing one, but none behind a symbolic link.
pub(super) fn create(path: &Path, overwrite: bool) -> Result<File, LocalError> {
    let mut options = File::options();
    options.read(true).write(true).mode(0o600);
    match overwrite {
        true => options.create(true).truncate(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32),
        false => options.create_new(true),
    };
    options.open(path).map_err(LocalError::wrap(path, "create"))
}

/// Opens an existing regular file to resume its copy, unless it has other names.
pub(super) fn open_existing(path: &Path) -> Result<Option<(File, Metadata)>, LocalError> {
    let mut options = File::options();
    options.read(true).write(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    let file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(LocalError::wrap(path, "open"))?,
    };
    let metadata = file.metadata().map_err(LocalError::wrap(path, "look at"))?;
    // Through another name of the file something else would be written.
    Ok((metadata.is_file() && metadata.nlink() == 1).then_some((file, metadata)))
}

/// Makes a directory of this mode, whatever the umask.
pub(super) fn make_directory(path: &Path, mode: u32) -> Result<(), LocalError> {
    let made = std::fs::DirBuilder::new().mode(OWNER_BITS).create(path);
    made.map_err(LocalError::wrap(path, "make the directory"))?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
        .map_err(LocalError::wrap(path, "set the mode"))
}

/// Lets the owner of a directory make files in it, which the mode from an earlier copy may forbid. A failure recurs
/// when a file is made.
pub(super) fn open_up(path: &Path) {
    let mode = std::fs::symlink_metadata(path).map_or(OWNER_BITS, |metadata| metadata.mode() & 0o7777);
    if mode & OWNER_BITS != OWNER_BITS {
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode | OWNER_BITS));
    }
}

/// Makes a device, a socket or a FIFO.
pub(super) fn make_special(path: &Path, node: SpecialFile, mode: u32) -> Result<(), LocalError> {
    use rustix::fs::FileType;
    let (file_type, device) = match node {
        SpecialFile::BlockDevice(device) => (FileType::BlockDevice, device),
        SpecialFile::CharDevice(device) => (FileType::CharacterDevice, device),
        SpecialFile::Fifo => (FileType::Fifo, Device::default()),
        SpecialFile::Socket => (FileType::Socket, Device::default()),
        other => {
            let error = io::Error::new(io::ErrorKind::Unsupported, format!("unknown kind: {other:?}"));
            return Err(LocalError::wrap(path, "make the special file")(error));
        }
    };
    let device = rustix::fs::makedev(device.major, device.minor);
    rustix::fs::mknodat(CWD, path, file_type, mode.into(), device)
        .map_err(|error| LocalError::wrap(path, "make the special file")(error.into()))
}

/// The argument of MKNOD or mknod(2) for a file of this kind, if it is special.
pub(super) fn special(attributes: &Attributes) -> Option<SpecialFile> {
    match attributes.kind {
        FileKind::BlockDevice => Some(SpecialFile::BlockDevice(attributes.device)),
        FileKind::CharDevice => Some(SpecialFile::CharDevice(attributes.device)),
        FileKind::Fifo => Some(SpecialFile::Fifo),
        FileKind::Socket => Some(SpecialFile::Socket),
        FileKind::Regular | FileKind::Directory | FileKind::Symlink => None,
    }
}

/// The final attributes of a copy that keeps the user and group that it was made with; `None` if none were to be set.
/// Another owner's programs must not run with that user's rights.
pub(super) fn without_owner(set: &SetAttributes) -> Option<SetAttributes> {
    let names_owner = set.uid.is_some() || set.gid.is_some();
    names_owner.then(|| SetAttributes { mode: set.mode.map(|mode| mode & !SET_IDS), uid: None, gid: None, ..*set })
}

/// Sets attributes of the file itself, also of a symbolic link, without its owner if this user may not. Returns whether
/// the owner was set, or none was to be set. Owners come first, because setting them clears bits of the mode, and times
/// last.
pub(super) fn set(path: &Path, set: &SetAttributes, is_symlink: bool) -> Result<bool, LocalError> {
    let Some(rest) = without_owner(set) else { return set_rest(path, set, is_symlink).map(|()| true) };
    match std::os::unix::fs::lchown(path, set.uid, set.gid) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            set_rest(path, &rest, is_symlink).map(|()| false)
        }
        done => {
            done.map_err(LocalError::wrap(path, "set the owner"))?;
            set_rest(path, set, is_symlink).map(|()| true)
        }
    }
}

/// Sets everything but the owner.
fn set_rest(path: &Path, set: &SetAttributes, is_symlink: bool) -> Result<(), LocalError> {
    if let Some(mode) = set.mode.filter(|_| !is_symlink) {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, permissions).map_err(LocalError::wrap(path, "set the mode"))?;
    }
    if let (Some(accessed), Some(modified)) = (set.accessed, set.modified) {
        let times = Timestamps { last_access: timespec(accessed), last_modification: timespec(modified) };
        rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| LocalError::wrap(path, "set the times")(error.into()))?;
    }
    Ok(())
}

fn timespec(time: SetTime) -> Timespec {
    let time = match time {
        SetTime::Now => Timestamp::from(SystemTime::now()),
        SetTime::To(time) => time,
    };
    Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() }
}

/// The names in a directory, read as a whole: files copied into the directory must not show up in its listing.
pub(super) fn names(path: &Path) -> Result<Vec<Vec<u8>>, LocalError> {
    let wrap = LocalError::wrap(path, "list");
    let entries = std::fs::read_dir(path).map_err(wrap.clone())?;
    entries.map(|entry| entry.map(|entry| entry.file_name().as_bytes().to_vec()).map_err(wrap.clone())).collect()
}
