//! The records of clients that may reclaim after a restart, in a file of the state directory (RFC 8881 §8.4.3).
//!
//! What always holds:
//!
//! - A change that has returned survives a crash: its line is on stable storage, or the whole file was replaced
//!   atomically.
//! - After a crash, the file holds every acknowledged change, and perhaps the last one that was not acknowledged.
//! - After a failed write nothing is appended to the file: the next change writes a new one.
//! - A change that cannot be written, as on a full disk, is remembered, and written with the next one.
//! - Each start has a greater number than all before it, whatever the clock says.

mod line;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use own_files::{Flaw, Locked, NAME_ANOTHER, OwnDir, explained};
use rustix::fs::{FallocateFlags, fallocate};
use state::{ClientRecord, ClientRecords, RecordKind, RecordsError};

use crate::state_files::CLIENTS;
pub(crate) use line::checksum;
use line::{MAGIC, RecordKey, RecordLine, ScannedLine};

const FILE: &str = CLIENTS.name;

/// The file is rewritten when it is longer than this, and more than half of it is outdated.
const MIN_REWRITTEN_BYTES: u64 = 256 << 10;

/// The longest file that is read, in bytes: the maximum number of clients with the longest names, several times over.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// How long optional writes wait after a failure: on a full disk, each attempt takes as long as writing a file.
const PAUSE: Duration = Duration::from_millis(500);

/// How often the log repeats that writing fails.
const COMPLAINT: Duration = Duration::from_secs(60);

/// Why the client records cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClientRecordsError {
    /// The file or its directory cannot be read or written.
    #[error("cannot {action} {}: {}", path.display(), explained(source, NAME_ANOTHER))]
    File {
        /// The action that failed.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file does not belong to this program, or is damaged.
    #[error(transparent)]
    Damaged(#[from] Flaw),
}

/// The records of one state directory, which is locked for this process.
#[derive(Debug)]
pub(crate) struct StoredRecords {
    path: PathBuf,
    dir: Arc<Locked<OwnDir>>,
    start: BootInfo,
    clients: BTreeMap<RecordKey, bool>,
    /// `None` when the file may not end with a whole line.
    log: Option<RecordsFile>,
    trouble: Option<WriteFailure>,
}

/// The time since which writing fails.
#[derive(Debug, Clone, Copy)]
struct WriteFailure {
    tried: Instant,
    complained: Instant,
}

/// This start of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BootInfo {
    /// Greater than that of every earlier start.
    pub(crate) boot: u32,
    /// The lease time from now on.
    pub(crate) lease: Duration,
    /// The lease time before this start; zero for the first one.
    pub(crate) earlier_lease: Duration,
}

#[derive(Debug)]
struct RecordsFile {
    file: File,
    length_bytes: u64,
    /// The length of the file when it was rewritten: all of it was valid then.
    begun_bytes: u64,
}

impl ClientRecordsError {
    /// What failed, what that means, and what to do.
    fn with_meaning(&self, means: &str) -> String {
        match self {
            ClientRecordsError::File { action, path, source } => {
                let remedy = own_files::remedy(source, NAME_ANOTHER).map(|remedy| format!("; {remedy}"));
                format!("cannot {action} {}: {source}: {means}{}", path.display(), remedy.unwrap_or_default())
            }
            ClientRecordsError::Damaged(flaw) => flaw.to_string(),
        }
    }

    /// Whether the cause is a lack of space.
    fn is_full(&self) -> bool {
        matches!(self, ClientRecordsError::File { source, .. } if is_full(source))
    }
}

/// Whether an error means that there is no space, or none for this user.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Checks the records in `dir`, if there are any, and changes nothing.
pub(crate) fn check(dir: &OwnDir) -> Result<(), ClientRecordsError> {
    let Some(bytes) = read(dir)? else { return Ok(()) };
    read_lines(dir, &bytes, drop).map(drop)
}

fn read(dir: &OwnDir) -> Result<Option<Vec<u8>>, ClientRecordsError> {
    match dir.read(FILE, MAX_FILE_BYTES + 1).map_err(failed("read", &dir.path().join(FILE)))? {
        Some(bytes) if bytes.len() as u64 > MAX_FILE_BYTES => Err(damaged(dir, MAX_FILE_BYTES as usize)),
        read => Ok(read),
    }
}

/// Applies each line, and returns where the last whole one ends.
fn read_lines(dir: &OwnDir, bytes: &[u8], mut apply: impl FnMut(RecordLine)) -> Result<usize, ClientRecordsError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(damaged(dir, 0));
    }
    let mut at = MAGIC.len();
    loop {
        match RecordLine::take(&bytes[at..]) {
            ScannedLine::Line(line, length) => {
                apply(line);
                at += length;
            }
            ScannedLine::End => return Ok(at),
            ScannedLine::Damage => return Err(damaged(dir, at)),
        }
    }
}

fn damaged(dir: &OwnDir, at: usize) -> ClientRecordsError {
    CLIENTS.refused(dir.path(), format!("is damaged at byte {at}")).into()
}

impl StoredRecords {
    /// Opens the records in `dir`, and records a start at `seconds` by the clock.
    pub(crate) fn open(
        dir: Arc<Locked<OwnDir>>,
        seconds: u32,
        lease: Duration,
    ) -> Result<StoredRecords, ClientRecordsError> {
        let path = dir.path().join(FILE);
        let start = BootInfo { boot: 0, lease, earlier_lease: Duration::ZERO };
        let mut records = StoredRecords { path, dir, start, clients: BTreeMap::new(), log: None, trouble: None };
        records.replay()?;
        records.start.earlier_lease = std::mem::replace(&mut records.start.lease, lease);
        records.start.boot = next_boot(records.start.boot, seconds);
        match records.rewrite() {
            Err(error) if !error.is_full() => return Err(error),
            done => records.note(&done),
        }
        Ok(records)
    }

    /// This start.
    pub(crate) fn start(&self) -> BootInfo {
        self.start
    }

    fn replay(&mut self) -> Result<(), ClientRecordsError> {
        let dir = Arc::clone(&self.dir);
        let Some(bytes) = read(&dir)? else {
            self.start.lease = Duration::ZERO;
            return Ok(());
        };
        let end = read_lines(&dir, &bytes, |line| self.apply(line))?;
        if end < bytes.len() {
            tracing::info!(
                path = %self.path.display(),
                cut_bytes = bytes.len() - end,
                "dropped an incomplete change at the end of the client records"
            );
        }
        Ok(())
    }

    fn apply(&mut self, line: RecordLine) {
        match line {
            RecordLine::Start { boot, lease_s } => {
                self.start.boot = boot;
                self.start.lease = Duration::from_secs(lease_s.into());
            }
            RecordLine::Client(record) => {
                self.clients.insert((record.kind, record.name), record.revoked);
            }
            RecordLine::Forget(keys) => {
                for key in keys {
                    self.clients.remove(&key);
                }
            }
        }
    }

    /// Makes a change in memory and on stable storage. A failed change is written with the next one.
    fn change(&mut self, line: RecordLine, is_urgent: bool) -> Result<(), RecordsError> {
        let bytes = line.bytes();
        self.apply(line);
        if self.trouble.is_some_and(|trouble| !is_urgent && trouble.tried.elapsed() < PAUSE) {
            return Err(RecordsError("the store failed a moment ago".to_owned()));
        }
        let done = match (self.log.take().filter(|log| !log.is_mostly_stale()), bytes) {
            (Some(log), Some(bytes)) => {
                log.append(&bytes).map(|log| self.log = Some(log)).map_err(failed("write", &self.path))
            }
            _ => self.rewrite(),
        };
        self.note(&done);
        done.map_err(|error| RecordsError(error.to_string()))
    }

    /// Logs now and then that writing fails, and once when it works again.
    fn note(&mut self, done: &Result<(), ClientRecordsError>) {
        let now = Instant::now();
        let before = self.trouble.take();
        match (done, before) {
            (Ok(()), None) => {}
            (Ok(()), Some(_)) => tracing::info!(path = %self.path.display(), "writing the client records works again"),
            (Err(_), Some(WriteFailure { complained, .. })) if now < complained + COMPLAINT => {
                self.trouble = Some(WriteFailure { tried: now, complained });
            }
            (Err(error), _) => {
                self.trouble = Some(WriteFailure { tried: now, complained: now });
                tracing::error!("{}", error.with_meaning("clients may lose opens and locks when the server restarts"));
            }
        }
    }

    /// Atomically replaces the file by a new one with the current records.
    fn rewrite(&mut self) -> Result<(), ClientRecordsError> {
        let bytes = self.contents();
        let file = self.dir.replace(FILE, &bytes).map_err(failed("write", &self.path))?;
        let length_bytes = bytes.len() as u64;
        reserve(&file, length_bytes);
        self.log = Some(RecordsFile { file, length_bytes, begun_bytes: length_bytes });
        Ok(())
    }

    /// Truncates the file to its head, which needs no space.
    fn truncate(&mut self) -> Result<(), ClientRecordsError> {
        self.log = None;
        let opened = self.dir.file_to_write(FILE).map_err(failed("open", &self.path))?;
        let Some(file) = opened else { return Ok(()) };
        let head_bytes = self.head().len() as u64;
        file.set_len(head_bytes).and_then(|()| file.sync_all()).map_err(failed("truncate", &self.path))
    }

    /// The head of every file, always of the same length.
    fn head(&self) -> Vec<u8> {
        let lease_s = u32::try_from(self.start.lease.as_secs()).unwrap_or(u32::MAX);
        // A start always fits into a line.
        let start = RecordLine::Start { boot: self.start.boot, lease_s }.bytes().unwrap_or_default();
        [&MAGIC[..], &start].concat()
    }

    fn contents(&self) -> Vec<u8> {
        // A client always fits into a line.
        let lines = self.records().filter_map(|record| RecordLine::Client(record).bytes());
        self.head().into_iter().chain(lines.flatten()).collect()
    }

    fn records(&self) -> impl Iterator<Item = ClientRecord> {
        let record = |((kind, name), revoked): (&RecordKey, &bool)| ClientRecord {
            kind: *kind,
            name: name.clone(),
            revoked: *revoked,
        };
        self.clients.iter().map(record)
    }
}

impl RecordsFile {
    /// Appends a line and flushes it to stable storage. A log whose append failed is dropped.
    fn append(mut self, line: &[u8]) -> io::Result<RecordsFile> {
        self.file.write_all(line)?;
        self.file.sync_data()?;
        self.length_bytes += line.len() as u64;
        Ok(self)
    }

    fn is_mostly_stale(&self) -> bool {
        self.length_bytes > MIN_REWRITTEN_BYTES.max(2 * self.begun_bytes)
    }
}

/// Takes space for the records to come, so that clients come on record though the disk is full meanwhile.
fn reserve(file: &File, length_bytes: u64) {
    // A file system that cannot, or a disk that is full already, fails the append instead.
    let _ = fallocate(file, FallocateFlags::KEEP_SIZE, length_bytes, MIN_REWRITTEN_BYTES);
}

/// The number of a start: the time, or more if an earlier start has that number or a greater one. Never 0 or all ones,
/// which begin the reserved stateids (RFC 8881 §8.2.3).
fn next_boot(last: u32, seconds: u32) -> u32 {
    last.saturating_add(1).max(seconds).clamp(1, u32::MAX - 1)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ClientRecordsError {
    let path = path.to_owned();
    move |source| ClientRecordsError::File { action, path, source }
}

impl ClientRecords for StoredRecords {
    fn load(&mut self) -> Result<Vec<ClientRecord>, RecordsError> {
        Ok(self.records().collect())
    }

    fn add(&mut self, record: &ClientRecord) -> Result<(), RecordsError> {
        self.change(RecordLine::Client(record.clone()), false)
    }

    fn remove(&mut self, names: &[(RecordKind, &[u8])]) -> Result<(), RecordsError> {
        let keys = names.iter().map(|(kind, name)| (*kind, Box::from(*name)));
        let is_urgent = !names.is_empty();
        let known: Vec<RecordKey> = keys.filter(|key| self.clients.contains_key(key)).collect();
        if known.is_empty() && self.log.is_some() { Ok(()) } else { self.change(RecordLine::Forget(known), is_urgent) }
    }

    fn mark(&mut self, kind: RecordKind, name: &[u8], revoked: bool) -> Result<(), RecordsError> {
        match self.clients.get(&(kind, Box::from(name))) {
            Some(known) if *known != revoked || self.log.is_none() => {
                self.change(RecordLine::Client(ClientRecord { kind, name: name.into(), revoked }), true)
            }
            _ => Ok(()),
        }
    }

    fn give_up(&mut self) -> Result<(), RecordsError> {
        self.truncate().map_err(|error| {
            self.note(&Err(error));
            RecordsError("the client records can be neither written nor removed".to_owned())
        })
    }
}

#[cfg(test)]
mod tests;
