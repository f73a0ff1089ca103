//! The file of the store: lines are only ever appended.
//!
//! A line that was handed to the kernel survives the end of this process, however that comes. A crash of the machine may
//! cost the last lines; the handles that were in them are stale then, and their numbers are not used again, since
//! numbers are reserved in advance with a sync.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::store::record::{Line, MAX_PAYLOAD_BYTES, PREFIX_BYTES};

/// How much of the file is read at once when it is opened, in bytes.
const READ_BYTES: usize = 1024 * 1024;

/// An append-only file of lines.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    /// How long the file is: what is in `pending` comes behind.
    end: u64,
    pending: Vec<u8>,
}

impl Log {
    /// Opens the file, or makes it, readable for its owner alone.
    pub(crate) fn open(path: &Path) -> io::Result<Log> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        Ok(Log { path: path.to_path_buf(), file, end: 0, pending: Vec::new() })
    }

    /// Takes the file for this process alone, until it is closed.
    pub(crate) fn lock(&self) -> io::Result<()> {
        let exclusive = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        rustix::fs::flock(&self.file, exclusive).map_err(io::Error::from)
    }

    /// Gives every whole line with its offset to `each`, cuts off what is behind them, and says how many bytes that was.
    pub(crate) fn replay(&mut self, mut each: impl FnMut(Line, u64, usize)) -> io::Result<u64> {
        let mut reader = self.file.try_clone()?;
        let mut unread = Vec::new();
        loop {
            let count = reader.by_ref().take(READ_BYTES as u64).read_to_end(&mut unread)?;
            let mut used = 0;
            while let Some((line, length)) = Line::take(&unread[used..]) {
                each(line, self.end, length);
                used += length;
                self.end += length as u64;
            }
            unread.drain(..used);
            if count == 0 || unread.len() > PREFIX_BYTES + MAX_PAYLOAD_BYTES {
                break;
            }
        }
        let cut = self.file.metadata()?.len() - self.end;
        self.file.set_len(self.end)?;
        Ok(cut)
    }

    /// How long the log is, in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.end + self.pending.len() as u64
    }

    /// Appends a line and says where; it is in memory until the next [`Log::flush`].
    pub(crate) fn append(&mut self, line: &Line) -> (u64, usize) {
        let (offset, start) = (self.len(), self.pending.len());
        line.put(&mut self.pending);
        (offset, self.pending.len() - start)
    }

    /// Hands what was appended to the kernel when it has become much.
    pub(crate) fn flush_when_large(&mut self) -> io::Result<()> {
        if self.pending.len() >= READ_BYTES { self.flush() } else { Ok(()) }
    }

    /// Hands everything that was appended to the kernel.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if !self.pending.is_empty() {
            self.file.write_all_at(&self.pending, self.end)?;
            self.end += self.pending.len() as u64;
            self.pending.clear();
        }
        Ok(())
    }

    /// Brings everything to stable storage.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.file.sync_data()
    }

    /// The line at an offset.
    pub(crate) fn line_at(&self, offset: u64, length: usize) -> io::Result<Line> {
        let mut bytes = vec![0; length];
        match offset.checked_sub(self.end) {
            None => self.file.read_exact_at(&mut bytes, offset)?,
            Some(at) => bytes.copy_from_slice(&self.pending[at as usize..at as usize + length]),
        }
        let line = Line::take(&bytes).map(|(line, _)| line);
        line.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", self.path.display())))
    }

    /// An empty log that will take this one's place.
    pub(crate) fn successor(&self) -> io::Result<Log> {
        let log = Log::open(&self.path.with_extension("new"))?;
        log.file.set_len(0)?;
        log.lock()?;
        Ok(log)
    }

    /// Puts this log in the place of `earlier`, in one step.
    pub(crate) fn replace(&mut self, earlier: &Log) -> io::Result<()> {
        self.sync()?;
        std::fs::rename(&self.path, &earlier.path)?;
        self.path.clone_from(&earlier.path);
        Ok(())
    }
}
