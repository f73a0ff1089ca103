//! Replies to requests that must not be executed twice, in two files of the state directory that are used in turn.
//!
//! A record is stored and not synced: it survives the end of the process, after which clients retransmit at once. The
//! current file is mapped, so that a record costs no system call ([`log_file`]). When it is full, the other one is
//! emptied and used. So both together hold the newest replies, and their size is bounded.
//!
//! A new file gets its name with a head that is on stable storage: after a power failure, a file without one is lost.
//!
//! A log with a gap is dangerous: without the reply to a request, a later change by another client looks like the
//! change of the request. So when a record cannot be stored, all earlier ones are dropped.

mod format;
mod log_file;

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use own_files::OwnDir;
use server::ReplyLog;

use crate::records::is_full;
use crate::state_dir::{StateDir, StateDirError};
use crate::state_files::REPLIES;
use format::{FILE_HEAD_BYTES, ReplyRecords};
use log_file::{FILE_BYTES, LogFile};

const NAMES: [&str; 2] = [REPLIES[0].name, REPLIES[1].name];

/// The log.
#[derive(Debug)]
pub(crate) struct FileReplyLog {
    dir: StateDir,
    current: Mutex<CurrentFile>,
}

/// The current file.
#[derive(Debug)]
struct CurrentFile {
    index: usize,
    /// `None` after a failure.
    file: Option<LogFile>,
    generation: u64,
    end: usize,
    /// Memory for a record, reused for the next one.
    record: Vec<u8>,
    has_failed: bool,
}

/// A file that an earlier process left.
struct OldFile {
    generation: u64,
    end: usize,
    records: Vec<Vec<u8>>,
    is_empty: bool,
    flaw: Option<String>,
}

/// Flushes the replies that a server keeps in `dir` to stable storage, so that another log may drop them. Logs a
/// failure.
pub fn sync(dir: &Path) {
    let synced = OwnDir::open(dir).and_then(|dir| sync_files(&dir));
    if let Err(error) = synced {
        tracing::error!(
            dir = %dir.display(), %error,
            "cannot flush the reply log to storage: after a power failure, retransmitted requests may fail"
        );
    }
}

/// Flushes the files that there are, including what was stored through a mapping.
fn sync_files(dir: &OwnDir) -> io::Result<()> {
    NAMES.iter().try_for_each(|name| dir.file_to_read(name)?.map_or(Ok(()), |file| file.sync_data()))
}

impl FileReplyLog {
    /// Opens the log in `dir`, and reads the records that are at most `max_age` old, oldest first.
    pub(crate) fn open(dir: StateDir, max_age: Duration) -> Result<(FileReplyLog, Vec<Vec<u8>>), StateDirError> {
        let oldest = seconds_since_1970().saturating_sub(max_age.as_secs());
        let failed = |action, name| StateDirError::in_dir(action, &dir.path().join(name));
        let read = |name| OldFile::read(&dir, name, oldest).map_err(failed("read", name));
        let [first, second] = [read(NAMES[0])?, read(NAMES[1])?];
        warn_of_losses(&dir, &first, &second);
        let (index, older, newer) =
            if second.generation > first.generation { (1, first, second) } else { (0, second, first) };
        newer.repair(&dir, NAMES[index], 1).map_err(failed("write", NAMES[index]))?;
        let generation = newer.generation.max(1);
        older.repair(&dir, NAMES[1 - index], generation - 1).map_err(failed("write", NAMES[1 - index]))?;
        let (end, records) = (newer.end.max(FILE_HEAD_BYTES), newer.records);
        let mut current = CurrentFile { index, file: None, generation, end, record: Vec::new(), has_failed: false };
        match current.go_on(&dir) {
            Err(error) if is_full(&error) => current.fail(&dir, &error),
            ready => ready.map_err(failed("write", NAMES[index]))?,
        }
        let log = FileReplyLog { dir, current: Mutex::new(current) };
        Ok((log, [older.records, records].concat()))
    }
}

/// Logs which file has lost replies. Each of them had some unless it is the second one in the first round.
fn warn_of_losses(dir: &OwnDir, first: &OldFile, second: &OldFile) {
    let was_used = [true, first.generation > 1];
    for ((kind, old), was_used) in REPLIES.iter().zip([first, second]).zip(was_used) {
        let empty = (old.is_empty && was_used).then(|| "is empty".to_owned());
        if let Some(wrong) = old.flaw.clone().or(empty) {
            tracing::warn!("{}", kind.lost(dir.path(), wrong));
        }
    }
}

impl OldFile {
    /// Reads a file up to the first torn record.
    fn read(dir: &OwnDir, name: &str, oldest: u64) -> io::Result<OldFile> {
        let read = dir.read(name, FILE_BYTES as u64)?;
        let is_empty = read.as_ref().is_some_and(Vec::is_empty);
        let bytes = read.unwrap_or_default();
        let mut all = ReplyRecords::of(&bytes);
        let young = all.by_ref().filter(|(time, _)| *time >= oldest).map(|(_, body)| body.to_vec());
        let records = young.collect();
        let head = format::generation(&bytes);
        let flaw = match head {
            None => (!bytes.is_empty()).then(|| "has no valid head".to_owned()),
            Some(_) => all.has_more().then(|| format!("is damaged at byte {}", all.end())),
        };
        Ok(OldFile { generation: head.unwrap_or_default(), end: all.end(), records, is_empty, flaw })
    }

    /// Removes what is behind the last record, so that it neither becomes part of a later one nor is reported again. A
    /// file without records becomes one of the generation `unused`, if there is space. One that is missing is made:
    /// from then on, it is lost when it is missing.
    fn repair(&self, dir: &OwnDir, name: &str, unused: u64) -> io::Result<()> {
        if self.generation > 0 {
            return log_file::truncate(dir, name, self.end);
        }
        match dir.replace(name, &format::file_head(unused)) {
            Err(error) if is_full(&error) => log_file::truncate(dir, name, 0),
            made => made.map(drop),
        }
    }
}

impl ReplyLog for FileReplyLog {
    fn keep(&self, record: &[u8]) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = current.append(&self.dir, seconds_since_1970(), record) {
            current.fail(&self.dir, &error);
        }
    }
}

impl CurrentFile {
    /// Prepares the file for the next record.
    fn go_on(&mut self, dir: &OwnDir) -> io::Result<()> {
        let mut file = LogFile::open(dir, NAMES[self.index])?;
        // Without space for it there is none yet.
        file.put(0, &format::file_head(self.generation))?;
        self.file = Some(file);
        Ok(())
    }

    fn append(&mut self, dir: &OwnDir, time: u64, body: &[u8]) -> io::Result<()> {
        self.encode(time, body);
        if self.file.is_none() || self.end + self.record.len() > FILE_BYTES {
            self.empty(dir, 1 - self.index)?;
            self.encode(time, body);
        }
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        if self.end + self.record.len() > FILE_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        file.put(self.end, &self.record)?;
        self.end += self.record.len();
        Ok(())
    }

    fn encode(&mut self, time: u64, body: &[u8]) {
        self.record.clear();
        format::put_record(self.generation, time, body, &mut self.record);
    }

    /// Switches to a file, and invalidates its old records.
    fn empty(&mut self, dir: &OwnDir, index: usize) -> io::Result<()> {
        let generation = self.generation + 1;
        // The mapping of the other file uses memory.
        self.file = None;
        let mut file = LogFile::open(dir, NAMES[index])?;
        file.put(0, &format::file_head(generation))?;
        (self.index, self.file, self.generation, self.end) = (index, Some(file), generation, FILE_HEAD_BYTES);
        Ok(())
    }

    /// Drops all records, so that none is missing among them.
    fn fail(&mut self, dir: &OwnDir, error: &io::Error) {
        // A mapped file must not be truncated. Emptying a file needs no space.
        self.file = None;
        let emptied = NAMES.map(|name| log_file::truncate(dir, name, 0).is_ok());
        if !std::mem::replace(&mut self.has_failed, true) {
            tracing::error!(
                dir = %dir.path().display(), %error, ?emptied,
                "cannot write the reply log: after a restart, retransmitted requests may fail; is the disk full?"
            );
        }
    }
}

fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests;
