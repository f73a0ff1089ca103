//! A directory of the server's own files.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fchmod, fsync, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use crate::check::{check, check_dir, check_link};
use crate::{AsServer, Refusal};

const DIR_MODE: u32 = 0o700;
const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A directory that nobody but the server and root can change. Its files are used through it alone.
#[derive(Debug)]
pub struct OwnDir {
    fd: OwnedFd,
    path: PathBuf,
}

impl OwnDir {
    /// Opens a directory, and makes it if it is missing.
    ///
    /// # Errors
    /// A [`Refusal`], or what the system says.
    pub fn create(path: &Path) -> io::Result<OwnDir> {
        match OwnDir::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => OwnDir::make(path),
            opened => opened,
        }
    }

    /// Opens a directory.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], a [`Refusal`], or what the system says.
    pub fn open(path: &Path) -> io::Result<OwnDir> {
        let _server = AsServer::new();
        // The directory itself may be a link, as systemd makes one for a service with a dynamic user.
        let stat = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode).is_symlink() {
            check_link(&stat)?;
        }
        let fd = openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        check_dir(&fd)?;
        Ok(OwnDir { fd, path: path.to_owned() })
    }

    fn make(path: &Path) -> io::Result<OwnDir> {
        let server = AsServer::new();
        DirBuilder::new().recursive(true).mode(DIR_MODE).create(path)?;
        drop(server);
        let dir = OwnDir::open(path)?;
        // The umask may have taken permissions away.
        let _server = AsServer::new();
        fchmod(&dir.fd, Mode::from_raw_mode(DIR_MODE))?;
        Ok(dir)
    }

    /// Where the directory is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file for reading; `None` if it is missing.
    ///
    /// # Errors
    /// A [`Refusal`], or what the system says.
    pub fn file_to_read(&self, name: &str) -> io::Result<Option<File>> {
        self.open_file(name, OFlags::RDONLY)
    }

    /// Opens a file for reading and writing; `None` if it is missing.
    ///
    /// # Errors
    /// A [`Refusal`], or what the system says.
    pub fn file_to_write(&self, name: &str) -> io::Result<Option<File>> {
        self.open_file(name, OFlags::RDWR)
    }

    /// Opens a file for reading and writing, and makes it if it is missing.
    ///
    /// # Errors
    /// A [`Refusal`], or what the system says.
    pub fn file(&self, name: &str) -> io::Result<File> {
        match self.file_to_write(name)? {
            Some(file) => Ok(file),
            None => self.new_file(name),
        }
    }

    /// Reads a file, at most `max_bytes` of it; `None` if it is missing.
    ///
    /// # Errors
    /// A [`Refusal`], or what the system says.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.file_to_read(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(max_bytes).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Gives a file new contents, so that after a crash it has either the old ones or all of the new ones. Returns the
    /// new file, open for reading and writing behind its contents.
    ///
    /// # Errors
    /// What the system says; the file is then as before.
    pub fn replace(&self, name: &str, contents: &[u8]) -> io::Result<File> {
        let draft = format!("{name}.new");
        // A draft that a crash has left.
        self.remove(&draft)?;
        let written = self.new_file(&draft).and_then(|mut file| {
            file.write_all(contents)?;
            file.sync_all()?;
            Ok(file)
        });
        let named = written.and_then(|file| self.rename(&draft, name).map(|()| file));
        if named.is_err() {
            // The draft takes space.
            let _ = self.remove(&draft);
        }
        named
    }

    /// Gives a file another name, which is then on stable storage.
    ///
    /// # Errors
    /// What the system says.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let _server = AsServer::new();
        renameat(&self.fd, from, &self.fd, to)?;
        Ok(fsync(&self.fd)?)
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let _server = AsServer::new();
        match unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Brings the names of all files to stable storage.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> io::Result<()> {
        Ok(fsync(&self.fd)?)
    }

    fn open_file(&self, name: &str, access: OFlags) -> io::Result<Option<File>> {
        let _server = AsServer::new();
        // A planted pipe must not block the server.
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = match openat(&self.fd, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(Refusal::Link.into()),
            opened => opened?,
        };
        check(&fd)?;
        Ok(Some(fd.into()))
    }

    fn new_file(&self, name: &str) -> io::Result<File> {
        let _server = AsServer::new();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name, flags, FILE_MODE)?;
        // The umask may have taken permissions away.
        fchmod(&fd, FILE_MODE)?;
        Ok(fd.into())
    }
}

impl AsFd for OwnDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
