//! A preallocated file, or a block device, with direct and synchronous writes.
//!
//! A new file is filled with zeros. Its blocks are then allocated and known to be written, so that later writes change
//! no metadata: only the data must reach the disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use own_files::{AsServer, Locked, Refusal};
use rustix::fs::{CWD, FallocateFlags, RenameFlags, SeekFrom, fallocate, renameat_with, seek, statvfs};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::holder::holder;
use super::{AlignedBuffer, Device, PAGE_BYTES};
use crate::log::LogError;

/// How many zeros are written at a time.
const FILL_BYTES: usize = 1 << 20;

/// Only the server may read clients' data.
const MODE: u32 = 0o600;

/// A file or block device that is locked against other processes.
#[derive(Debug)]
pub struct FileDevice {
    file: Locked<File>,
    path: PathBuf,
    size_bytes: u64,
    is_direct: bool,
}

/// How a device is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Reading,
    Writing,
    /// Writing to a file that is made if it is missing.
    Creating,
}

impl FileDevice {
    /// Creates a file of `size_bytes` allocated zeros. It is called `PATH.new` until it is complete.
    ///
    /// # Errors
    /// When the file exists, there is no space, or the system refuses.
    pub fn create(path: &Path, size_bytes: u64) -> Result<FileDevice, LogError> {
        if path.symlink_metadata().is_ok() {
            return Err(LogError::Exists { path: path.to_owned() });
        }
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".new");
        let unfinished = PathBuf::from(unfinished);
        let mut device = FileDevice::open_for(&unfinished, Use::Creating)?;
        let size_bytes = whole_blocks(size_bytes);
        let filled = device.fill(size_bytes).map_err(|source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => no_room(path, size_bytes),
            _ => failure(path, "allocate", source),
        });
        if let Err(error) = filled.and_then(|()| device.rename(&unfinished, path)) {
            // It takes space.
            let _ = std::fs::remove_file(&unfinished);
            return Err(error);
        }
        device.path = path.to_owned();
        device.size_bytes = size_bytes;
        Ok(device)
    }

    /// Refuses a place without room for a new log of `size_bytes`. [`FileDevice::create`] may still fail.
    ///
    /// # Errors
    /// [`LogError::NoRoom`], or when the file system cannot be looked at.
    pub fn check_room(path: &Path, size_bytes: u64) -> Result<(), LogError> {
        let space = statvfs(folder_of(path)).map_err(|error| failure(path, "find room for", error.into()))?;
        let blocks = if geteuid().is_root() { space.f_bfree } else { space.f_bavail };
        let has_room = blocks.saturating_mul(space.f_frsize) >= size_bytes;
        if has_room { Ok(()) } else { Err(no_room(path, size_bytes)) }
    }

    /// Opens a file or a block device.
    ///
    /// # Errors
    /// When another process uses it, or the system refuses it.
    pub fn open(path: &Path) -> Result<FileDevice, LogError> {
        FileDevice::open_for(path, Use::Writing)
    }

    /// Opens a file or a block device for reading only. Several processes may do so at a time.
    ///
    /// # Errors
    /// When a server uses it, or the system refuses it.
    pub fn open_read_only(path: &Path) -> Result<FileDevice, LogError> {
        FileDevice::open_for(path, Use::Reading)
    }

    /// Gives a file a name that ends with `.discarded`, so that its place is free, and returns that. A block device
    /// stays as it is.
    ///
    /// # Errors
    /// When there is such a file already, or the system refuses.
    pub fn put_aside(&self) -> Result<Option<PathBuf>, LogError> {
        let failed = |source| failure(&self.path, "rename", source);
        if self.file.metadata().map_err(failed)?.file_type().is_block_device() {
            return Ok(None);
        }
        // The name may be a link to the file.
        let path = self.path.canonicalize().map_err(failed)?;
        let mut aside = path.clone().into_os_string();
        aside.push(".discarded");
        let aside = PathBuf::from(aside);
        self.rename(&path, &aside)?;
        Ok(Some(aside))
    }

    /// Whether reads and writes go past the page cache.
    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    fn open_for(path: &Path, purpose: Use) -> Result<FileDevice, LogError> {
        let failed = |action| move |source| failure(path, action, source);
        let (file, is_direct) = open_flags(path, purpose).map_err(|source| refusal(path, source))?;
        own_files::check(&file).map_err(|source| {
            match source.get_ref().and_then(|refusal| refusal.downcast_ref()) {
                Some(Refusal::Owner { owner, server }) => of_other_user(path, *owner, *server),
                _ => failed("use")(source),
            }
        })?;
        let file = lock(path, file, purpose)?;
        if purpose != Use::Reading {
            // Data that an earlier process wrote may only be in a cache of the disk.
            file.sync_all().map_err(failed("flush"))?;
        }
        let size_bytes = size(&file).map_err(failed("find the size of"))?;
        if purpose != Use::Reading && !is_direct {
            tracing::warn!(path = %path.display(), "the log's file system has no direct writes: writes take longer");
        }
        Ok(FileDevice { file, path: path.to_owned(), size_bytes, is_direct })
    }

    /// Fills the file with zeros, without making each piece durable.
    fn fill(&self, size_bytes: u64) -> io::Result<()> {
        self.file.set_len(0)?;
        match fallocate(&self.file, FallocateFlags::empty(), 0, size_bytes) {
            // Writing zeros allocates the file too.
            Ok(()) | Err(Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = direct(self.is_direct) | libc::O_NOFOLLOW;
        let file = OpenOptions::new().write(true).custom_flags(flags).open(&self.path)?;
        let zeros = AlignedBuffer::new(FILL_BYTES);
        let mut offset_bytes = 0;
        while offset_bytes < size_bytes {
            let length = (size_bytes - offset_bytes).min(FILL_BYTES as u64) as usize;
            file.write_all_at(&zeros[..length], offset_bytes)?;
            offset_bytes += length as u64;
        }
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), LogError> {
        renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(|error| match error {
            Errno::EXIST => LogError::Exists { path: to.to_owned() },
            error => failure(to, "name", error.into()),
        })?;
        File::open(folder_of(to)).and_then(|folder| folder.sync_all()).map_err(|source| failure(to, "name", source))
    }
}

impl Device for FileDevice {
    fn path(&self) -> &Path {
        &self.path
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn block_bytes(&self) -> usize {
        PAGE_BYTES
    }

    fn read_at(&self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, offset_bytes)
    }

    fn write_at(&self, offset_bytes: u64, from: &[u8]) -> io::Result<()> {
        self.file.write_all_at(from, offset_bytes)
    }
}

fn no_room(path: &Path, size_bytes: u64) -> LogError {
    LogError::NoRoom { path: path.to_owned(), size_bytes }
}

/// The directory that a file is in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens with direct I/O where the file system supports it.
fn open_flags(path: &Path, purpose: Use) -> io::Result<(File, bool)> {
    match open_file(path, purpose, true).and_then(|file| probe(&file).map(|()| file)) {
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            Ok((open_file(path, purpose, false)?, false))
        }
        opened => Ok((opened?, true)),
    }
}

fn open_file(path: &Path, purpose: Use, is_direct: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // rustix has only O_SYNC, which would also make the file's times durable.
    let mut flags = libc::O_DSYNC | direct(is_direct);
    if purpose == Use::Creating {
        // Somebody could have put a link there, if others may write to the folder.
        flags |= libc::O_NOFOLLOW;
        options.create(true).truncate(false).mode(MODE);
    } else {
        let kind = path.metadata()?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(io::Error::other("it is neither a file nor a block device"));
        }
        if purpose == Use::Writing && kind.is_block_device() {
            // Makes the kernel refuse a mounted device.
            flags |= libc::O_EXCL;
        }
    }
    let _server = AsServer::new();
    options.read(true).write(purpose != Use::Reading).custom_flags(flags).open(path)
}

fn direct(is_direct: bool) -> i32 {
    if is_direct { libc::O_DIRECT } else { 0 }
}

/// Reads a block: some file systems accept O_DIRECT, and then refuse to read blocks of this size.
fn probe(file: &File) -> io::Result<()> {
    file.read_at(&mut AlignedBuffer::new(PAGE_BYTES), 0).map(drop)
}

fn lock(path: &Path, file: File, purpose: Use) -> Result<Locked<File>, LogError> {
    let locked = if purpose == Use::Reading { Locked::shared(file) } else { Locked::exclusive(file) };
    locked.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => in_use(path),
        _ => failure(path, "lock", error),
    })
}

/// Returns the size of a file, or of a block device, whose metadata say 0.
fn size(file: &File) -> io::Result<u64> {
    Ok(whole_blocks(seek(file, SeekFrom::End(0))?))
}

fn whole_blocks(bytes: u64) -> u64 {
    bytes - bytes % PAGE_BYTES as u64
}

/// Why a file cannot be opened. A block device that is mounted or used by a server is busy.
fn refusal(path: &Path, source: io::Error) -> LogError {
    match source.kind() {
        io::ErrorKind::ResourceBusy => in_use(path),
        io::ErrorKind::PermissionDenied => match path.metadata().map(|found| found.uid()) {
            Ok(owner) if owner != geteuid().as_raw() => of_other_user(path, owner, geteuid().as_raw()),
            _ => failure(path, "open", source),
        },
        _ => failure(path, "open", source),
    }
}

fn of_other_user(path: &Path, owner: u32, user: u32) -> LogError {
    LogError::OfOtherUser { path: path.to_owned(), owner, user }
}

fn in_use(path: &Path) -> LogError {
    LogError::InUse { path: path.to_owned(), process: holder(path) }
}

fn failure(path: &Path, action: &'static str, source: io::Error) -> LogError {
    LogError::Device { path: path.to_owned(), action, source: Arc::new(source) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{self, Command};

    use super::*;
    use crate::Log;

    /// A folder for a test, removed at its end.
    struct TestFolder(PathBuf);

    impl TestFolder {
        fn new(name: &str) -> TestFolder {
            let path = std::env::temp_dir().join(format!("wharf-stable-{}-{name}", process::id()));
            fs::create_dir(&path).unwrap();
            TestFolder(path)
        }
    }

    impl Drop for TestFolder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn file_is_allocated_whole_and_keeps_what_is_written() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let folder = TestFolder::new("allocated");
        let path = folder.0.join("log");
        let device = FileDevice::create(&path, (1 << 20) + 5).unwrap();
        let metadata = path.metadata().unwrap();
        assert_eq!((metadata.len(), device.size_bytes()), (1 << 20, 1 << 20));
        assert!(metadata.blocks() * 512 >= 1 << 20);
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        let flags = rustix::fs::fcntl_getfl(&device.file).unwrap().bits() as i32;
        assert_eq!(flags & libc::O_SYNC, libc::O_DSYNC, "the file's times need not be durable");
        let mut block = AlignedBuffer::new(PAGE_BYTES);
        block.fill(7);
        device.write_at(8192, &block).unwrap();
        drop(device);
        let device = FileDevice::open_read_only(&path).unwrap();
        let mut read = AlignedBuffer::new(PAGE_BYTES);
        device.read_at(8192, &mut read).unwrap();
        assert_eq!(&read[..], &block[..]);
        assert!(!folder.0.join("log.new").exists());
    }

    #[test]
    fn second_user_is_told_which_process_has_the_log() {
        let folder = TestFolder::new("locked");
        let path = folder.0.join("log");
        let device = FileDevice::create(&path, 1 << 20).unwrap();
        let refusal = FileDevice::open(&path).unwrap_err();
        let expected = format!("log {} is in use by process {};", path.display(), process::id());
        assert!(refusal.to_string().starts_with(&expected), "{refusal}");
        assert!(matches!(FileDevice::open_read_only(&path), Err(LogError::InUse { .. })));
        drop(device);
        let readers = [FileDevice::open_read_only(&path).unwrap(), FileDevice::open_read_only(&path).unwrap()];
        assert!(matches!(FileDevice::open(&path), Err(LogError::InUse { .. })));
        drop(readers);
        FileDevice::open(&path).unwrap();
    }

    #[test]
    fn existing_file_is_not_replaced() {
        let folder = TestFolder::new("existing");
        let path = folder.0.join("log");
        fs::write(&path, "something").unwrap();
        assert!(matches!(FileDevice::create(&path, 1 << 20), Err(LogError::Exists { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"something");
    }

    #[test]
    fn file_that_was_not_completed_is_made_again() {
        let folder = TestFolder::new("unfinished");
        let unfinished = OpenOptions::new().write(true).create_new(true).mode(MODE).open(folder.0.join("log.new"));
        unfinished.unwrap().set_len(100_000).unwrap();
        let path = folder.0.join("log");
        let device = FileDevice::create(&path, 1 << 20).unwrap();
        Log::create(Arc::new(device), b"").unwrap();
    }

    #[test]
    fn log_in_a_file_is_there_when_it_is_opened_again() {
        let folder = TestFolder::new("reopened");
        let path = folder.0.join("log");
        let log = Log::create(Arc::new(FileDevice::create(&path, 1 << 20).unwrap()), b"owner").unwrap();
        log.wait(log.append(&[&[5; 10_000]]).unwrap()).unwrap();
        drop(log);
        let log = Log::open(Arc::new(FileDevice::open(&path).unwrap())).unwrap();
        assert_eq!(log.owner(), b"owner");
        assert_eq!(log.records().map(|record| record.unwrap().1).collect::<Vec<_>>(), [vec![5; 10_000]]);
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let folder = TestFolder::new("folder");
        assert!(matches!(FileDevice::open(&folder.0), Err(LogError::Device { .. })));
        assert!(matches!(FileDevice::open(&folder.0.join("none")), Err(LogError::Device { action: "open", .. })));
    }

    /// A loop device for a test, removed at its end.
    struct LoopDevice(PathBuf);

    impl LoopDevice {
        fn over(file: &Path) -> Option<LoopDevice> {
            let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output().ok()?;
            let path = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| LoopDevice(PathBuf::from(path.trim())))
        }
    }

    impl Drop for LoopDevice {
        fn drop(&mut self) {
            assert!(Command::new("losetup").arg("--detach").arg(&self.0).status().unwrap().success());
        }
    }

    #[test]
    fn block_device_takes_a_log_unless_it_holds_something() {
        let folder = TestFolder::new("block");
        let file = folder.0.join("disk");
        File::create(&file).unwrap().set_len(1 << 20).unwrap();
        let Some(disk) = LoopDevice::over(&file) else {
            println!("skipped: no block device can be made; run as root, with losetup");
            return;
        };
        let log = Log::create(Arc::new(FileDevice::open(&disk.0).unwrap()), b"owner").unwrap();
        assert_eq!(log.status().size_bytes, 1 << 20);
        log.wait(log.append(&[b"record"]).unwrap()).unwrap();
        let refusal = FileDevice::open(&disk.0).unwrap_err();
        assert!(refusal.to_string().contains(&format!("is in use by process {};", process::id())), "{refusal}");
        drop(log);
        assert_eq!(Log::open(Arc::new(FileDevice::open(&disk.0).unwrap())).unwrap().records().count(), 1);
        let again = Log::create(Arc::new(FileDevice::open(&disk.0).unwrap()), b"");
        assert!(matches!(again, Err(LogError::NotBlank { .. })));
    }
}
