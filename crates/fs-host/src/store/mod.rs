//! Numbers for files where the kernel's handles cannot be used, and what those numbers stand for.
//!
//! A number is never given to a second file. Each is written to a log before the call that gives it out returns. In memory
//! there is only where each number's line is, and a hash of each fingerprint: about 60 bytes for each file that was ever
//! looked up and still exists.

mod log;
mod record;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use log::Log;
use record::Line;
pub(crate) use record::{Fingerprint, Record, fnv};

/// The number that stands for the exported directory, which has no record.
pub(crate) const ROOT_ID: u64 = 0;

/// How many numbers are reserved with one sync.
const RESERVED_IDS: u64 = 1 << 20;

/// How far numbering jumps ahead when the end of the log was damaged, so that no number that was lost comes again.
const JUMP_AFTER_DAMAGE: u64 = 1 << 40;

/// The log is written anew when this many bytes of it are out of date, and more than are not.
const MAX_DEAD_BYTES: u64 = 16 * 1024 * 1024;

/// The numbers of one export.
pub(crate) struct Store {
    numbers: Mutex<Numbers>,
}

struct Numbers {
    log: Log,
    export: Vec<u8>,
    lines: HashMap<u64, Spot>,
    ids: HashMap<u64, u64>,
    hasher: RandomState,
    next: u64,
    reserved: u64,
    live_bytes: u64,
    max_dead_bytes: u64,
}

/// Where a line is.
#[derive(Clone, Copy)]
struct Spot {
    offset: u64,
    length: u32,
}

/// Why the store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it belongs to {0}")]
    Foreign(String),
}

impl Store {
    /// Opens the log at `path`, or begins it, for the export at this path.
    pub(crate) fn open(path: &Path, export: &[u8]) -> Result<Store, StoreError> {
        let log = Log::open(path)?;
        log.lock()?;
        let mut numbers = Numbers::new(log, export);
        numbers.replay(path)?;
        numbers.reserve()?;
        Ok(Store { numbers: Mutex::new(numbers) })
    }

    /// The number of a file that was seen as `name` in `parent`: the one that it has, or a new one.
    ///
    /// `is_only_name` says that the file has no other name, so that this one replaces what was known.
    pub(crate) fn id(&self, seen: &Record, is_only_name: bool) -> io::Result<u64> {
        let mut numbers = self.lock();
        let Some(known) = numbers.find(&seen.fingerprint)? else { return numbers.add(seen.clone()) };
        let is_moved = known.parent != seen.parent || known.name != seen.name;
        if is_moved && is_only_name {
            numbers.put(Record { id: known.id, ..seen.clone() });
        }
        Ok(known.id)
    }

    /// The number of a file, if it has one.
    pub(crate) fn known_id(&self, fingerprint: &Fingerprint) -> io::Result<Option<u64>> {
        Ok(self.lock().find(fingerprint)?.map(|record| record.id))
    }

    /// The number that the next new file will get.
    pub(crate) fn next_id(&self) -> u64 {
        self.lock().next
    }

    /// What is known of a number.
    pub(crate) fn record(&self, id: u64) -> io::Result<Option<Record>> {
        self.lock().record(id)
    }

    /// Replaces what is known of a number.
    pub(crate) fn put(&self, record: Record) {
        self.lock().put(record);
    }

    /// Forgets a file that is gone.
    pub(crate) fn forget(&self, id: u64) -> io::Result<()> {
        self.lock().forget(id)
    }

    /// Hands what is new to the kernel, so that it survives the end of this process.
    pub(crate) fn flush(&self) -> io::Result<()> {
        let mut numbers = self.lock();
        numbers.log.flush()?;
        let dead_bytes = numbers.log.len() - numbers.live_bytes.min(numbers.log.len());
        if dead_bytes > numbers.max_dead_bytes.max(numbers.live_bytes) {
            numbers.rewrite_or_wait(dead_bytes);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Err(error) = self.lock().log.sync() {
            tracing::warn!(%error, "cannot sync the store of file handles");
        }
    }
}

impl Numbers {
    fn new(log: Log, export: &[u8]) -> Numbers {
        Numbers {
            log,
            export: export.to_vec(),
            lines: HashMap::new(),
            ids: HashMap::new(),
            hasher: RandomState::new(),
            next: ROOT_ID + 1,
            reserved: 0,
            live_bytes: 0,
            max_dead_bytes: MAX_DEAD_BYTES,
        }
    }

    fn replay(&mut self, path: &Path) -> Result<(), StoreError> {
        let mut log = std::mem::replace(&mut self.log, Log::open(Path::new("/dev/null"))?);
        let mut owner = None;
        let cut = log.replay(|line, offset, length| match line {
            Line::Export(path) => owner = Some(path),
            Line::Node(record) => self.index(&record, Spot { offset, length: length as u32 }),
            Line::Gone(id) => drop(self.lines.remove(&id)),
            Line::Reserved(id) => self.reserved = self.reserved.max(id),
        })?;
        self.log = log;
        match owner {
            Some(owner) if owner != self.export => return Err(StoreError::Foreign(owner.escape_ascii().to_string())),
            Some(_) => {}
            None => drop(self.log.append(&Line::Export(self.export.clone()))),
        }
        self.next = self.next.max(self.reserved);
        if cut > 0 {
            tracing::warn!(path = %path.display(), cut_bytes = cut, "the store of file handles was cut off at its last whole line");
            self.next += JUMP_AFTER_DAMAGE;
        }
        Ok(())
    }

    fn hash(&self, fingerprint: &Fingerprint) -> u64 {
        self.hasher.hash_one(fingerprint)
    }

    fn index(&mut self, record: &Record, spot: Spot) {
        self.next = self.next.max(record.id + 1);
        self.ids.insert(self.hash(&record.fingerprint), record.id);
        let replaced = self.lines.insert(record.id, spot);
        self.live_bytes += u64::from(spot.length);
        self.live_bytes -= replaced.map_or(0, |spot| u64::from(spot.length));
    }

    fn record(&self, id: u64) -> io::Result<Option<Record>> {
        let Some(spot) = self.lines.get(&id) else { return Ok(None) };
        match self.log.line_at(spot.offset, spot.length as usize)? {
            Line::Node(record) if record.id == id => Ok(Some(record)),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn find(&self, fingerprint: &Fingerprint) -> io::Result<Option<Record>> {
        let Some(&id) = self.ids.get(&self.hash(fingerprint)) else { return Ok(None) };
        Ok(self.record(id)?.filter(|record| record.fingerprint == *fingerprint))
    }

    fn add(&mut self, seen: Record) -> io::Result<u64> {
        if self.next >= self.reserved {
            self.reserve()?;
        }
        let id = self.next;
        self.put(Record { id, ..seen });
        Ok(id)
    }

    fn put(&mut self, record: Record) {
        if let Ok(Some(earlier)) = self.record(record.id)
            && earlier.fingerprint != record.fingerprint
        {
            self.ids.remove(&self.hash(&earlier.fingerprint));
        }
        let line = Line::Node(record);
        let (offset, length) = self.log.append(&line);
        if let Line::Node(record) = &line {
            self.index(record, Spot { offset, length: length as u32 });
        }
    }

    fn forget(&mut self, id: u64) -> io::Result<()> {
        let Some(record) = self.record(id)? else { return Ok(()) };
        self.ids.remove(&self.hash(&record.fingerprint));
        if let Some(spot) = self.lines.remove(&id) {
            self.live_bytes -= u64::from(spot.length);
        }
        self.log.append(&Line::Gone(id));
        Ok(())
    }

    /// Sees to it that the next numbers are not given out again, even if the log loses its end.
    fn reserve(&mut self) -> io::Result<()> {
        self.reserved = self.next + RESERVED_IDS;
        self.log.append(&Line::Reserved(self.reserved));
        self.log.sync()
    }

    /// A log that cannot be written anew is still good; it is tried again when twice as much is out of date.
    fn rewrite_or_wait(&mut self, dead_bytes: u64) {
        match self.rewrite() {
            Ok(()) => self.max_dead_bytes = MAX_DEAD_BYTES,
            Err(error) => {
                tracing::warn!(%error, "cannot write the store of file handles anew, so it goes on growing");
                self.max_dead_bytes = dead_bytes * 2;
            }
        }
    }

    /// Writes what is still true into a new log.
    fn rewrite(&mut self) -> io::Result<()> {
        let mut log = self.log.successor()?;
        log.append(&Line::Export(self.export.clone()));
        log.append(&Line::Reserved(self.reserved));
        let mut lines = HashMap::with_capacity(self.lines.len());
        for (&id, spot) in &self.lines {
            let (offset, length) = log.append(&self.log.line_at(spot.offset, spot.length as usize)?);
            lines.insert(id, Spot { offset, length: length as u32 });
            log.flush_when_large()?;
        }
        log.replace(&self.log)?;
        (self.log, self.lines) = (log, lines);
        Ok(())
    }
}
