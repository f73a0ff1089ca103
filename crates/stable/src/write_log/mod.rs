//! [`WriteLog`]: a log, and the exports that write to it.

mod check;
mod marking;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use vfs::{Context, Error, FileSystem, Handle, Result, quoted};

use crate::dependence::{Known, needed};
use crate::device::Device;
use crate::error::{REPAIR, WriteLogError};
use crate::layer::{LoggedExport, Pending, StableFs, Volume};
use crate::log::{Ahead, Log, LogError, Position, Status};
use crate::log_site::LogSite;
use crate::mark;
use crate::owner::{LogOwner, OwnedExport};
use crate::replay::{self, Counts, Earlier, MadeChange, Replayed, Tickets};
use crate::state_file::StateFile;
use crate::state_line::{StateLine, server_id};
use crate::unreadable;

/// How a [`WriteLog`] is used.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory of the server's state, which must not be on the device of the log.
    pub state_dir: PathBuf,
    /// How full the log gets before all changes are flushed to storage and the log is trimmed: a share of its capacity.
    pub high_water: f64,
    /// How full it may be after that; otherwise the flush is repeated.
    pub low_water: f64,
    /// How old the oldest record gets before the log is flushed and trimmed.
    pub max_age: Duration,
    /// Stable writes of at least this many bytes bypass a slow log: writing them twice takes longer.
    pub large_write_bytes: usize,
    /// Whether to replay even changes that the machine's memory still has.
    pub always_replay: bool,
    /// Whether the log may be lost: no export is marked as depending on it.
    pub is_expendable: bool,
}

impl Options {
    /// The defaults, with this state directory.
    pub fn new(state_dir: PathBuf) -> Options {
        Options {
            state_dir,
            high_water: 0.5,
            low_water: 0.25,
            max_age: Duration::from_secs(10),
            large_write_bytes: 64 << 10,
            always_replay: false,
            is_expendable: false,
        }
    }
}

/// A log of stable changes, and the exports that write to it.
///
/// Open it, [attach](WriteLog::attach) every export that it has records of, then [start](WriteLog::start) it.
pub struct WriteLog {
    log: Log,
    options: Options,
    owner: Mutex<LogOwner>,
    state_file: StateFile,
    lines: Vec<StateLine>,
    server_id: OnceLock<String>,
    /// When the state directory was told where the log ends, and where that was.
    kept_end: Mutex<(Instant, u64)>,
    /// `None` once the log is closed: nothing of it can be flushed any more.
    exports: Mutex<Option<Vec<Arc<LoggedExport>>>>,
    has_failed: AtomicBool,
    is_started: AtomicBool,
    /// Locked during the fallback after a failure of the device: everybody else waits for its end.
    falling_back: Mutex<Fallback>,
    /// Locked while the log is flushed and trimmed.
    trimming: Mutex<()>,
    trimmer: Trimmer,
    tickets: Mutex<Tickets>,
    before_trim: OnceLock<BeforeTrim>,
    /// By the number of their storage.
    volumes: Mutex<HashMap<u64, Weak<Volume>>>,
}

/// An export that is being attached.
struct Entered {
    export: Arc<LoggedExport>,
    now: OwnedExport,
    /// Its description in the log.
    known: Option<OwnedExport>,
}

/// An action before records are dropped.
type BeforeTrim = Box<dyn Fn() + Send + Sync>;

/// Whether the fallback after a failure of the device is complete.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Fallback {
    #[default]
    Pending,
    Done,
}

/// Wakes the trimming thread.
#[derive(Default)]
struct Trimmer {
    wanted: Mutex<TrimRequest>,
    changed: Condvar,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum TrimRequest {
    #[default]
    Nothing,
    Trim,
    End,
}

/// How often the age of the oldest record is checked.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// The size of a log that stands for one which is not made.
const SMALL_LOG_BYTES: usize = 1 << 20;

/// The maximum number of unsynced files before everything is flushed.
const MAX_UNSYNCED_FILES: usize = 1 << 16;

impl WriteLog {
    /// Creates an empty log.
    ///
    /// # Errors
    /// When the device has other data, or fails.
    pub fn create(device: Arc<dyn Device>) -> std::result::Result<(), WriteLogError> {
        Log::create(device, &LogOwner::new().bytes())?;
        Ok(())
    }

    /// Opens a log.
    ///
    /// # Errors
    /// When the log or the state directory cannot be read.
    pub fn open(device: Arc<dyn Device>, options: Options) -> std::result::Result<Arc<WriteLog>, WriteLogError> {
        let log = Log::open(device).map_err(|error| unreadable::open_error(error, &options.state_dir))?;
        let log = WriteLog::of(log, options)?;
        log.drop_retired()?;
        Ok(Arc::new(log))
    }

    /// Opens a log, or prepares a new one in a device of zeros. Nothing changes before exports are attached, and a new
    /// log is written by [`WriteLog::start`]: a start that is refused must leave everything as it was.
    ///
    /// # Errors
    /// When the device has other data, is too small or fails, and when the state directory cannot be read.
    pub fn open_or_begin(
        device: Arc<dyn Device>,
        options: Options,
    ) -> std::result::Result<Arc<WriteLog>, WriteLogError> {
        let log = Log::open_or_begin(device, &LogOwner::new().bytes())
            .map_err(|error| unreadable::open_error(error, &options.state_dir))?;
        Ok(Arc::new(WriteLog::of(log, options)?))
    }

    fn of(log: Log, options: Options) -> std::result::Result<WriteLog, WriteLogError> {
        let owner = LogOwner::read(&log.owner()).ok_or(WriteLogError::NotAWriteLog)?;
        let (state_file, lines) = StateFile::open(&options.state_dir)?;
        Ok(WriteLog {
            log,
            options,
            owner: Mutex::new(owner),
            state_file,
            server_id: server_id(&lines).map_or_else(OnceLock::new, |id| OnceLock::from(id.to_owned())),
            kept_end: Mutex::new((Instant::now(), 0)),
            lines,
            exports: Mutex::new(Some(Vec::new())),
            has_failed: AtomicBool::new(false),
            is_started: AtomicBool::new(false),
            falling_back: Mutex::default(),
            trimming: Mutex::default(),
            trimmer: Trimmer::default(),
            tickets: Mutex::default(),
            before_trim: OnceLock::new(),
            volumes: Mutex::default(),
        })
    }

    /// Whether all changes of the log are in storage since its device failed.
    fn is_retired(&self) -> bool {
        self.lines.contains(&StateLine::Retired { log: hold(&self.owner).id.clone() })
    }

    /// Drops the records of a log whose device had failed: their changes are in storage.
    fn drop_retired(&self) -> std::result::Result<(), WriteLogError> {
        if !self.is_retired() {
            return Ok(());
        }
        tracing::warn!("the write log was retired after its device had failed: what it has is not made again");
        self.log.trim(self.log.end())?;
        *hold(&self.owner) = LogOwner::new();
        self.store_owner()
    }

    /// The exports that the log knows or that depend on it as the state directory has it, and how many records it has
    /// of each. A start without an export forgets it when the log has nothing of it.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn kept(&self) -> std::result::Result<Vec<(PathBuf, u64)>, WriteLogError> {
        let counts = Counts::read(&self.log)?;
        let owner = hold(&self.owner);
        let owned = owner.exports.iter().map(|owned| (owned.name.clone(), counts.of(owned.number)));
        let is_owned = |name: &Path| owner.exports.iter().any(|owned| owned.name == name);
        let marked = needed(&self.lines).into_iter();
        let marked = marked.filter(|(name, mark)| mark.log == self.log.id() && !is_owned(name));
        Ok(owned.chain(marked.map(|(name, _)| (name.clone(), 0))).collect())
    }

    /// How many records the log has of exports that it does not know, as after damage to a header.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn unnamed(&self) -> std::result::Result<u64, WriteLogError> {
        Ok(Counts::read(&self.log)?.of_others(&hold(&self.owner).exports))
    }

    /// Whether the state directory is that of a server with this log.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_known(&self) -> std::result::Result<bool, WriteLogError> {
        unreadable::is_known((&self.log.id(), &hold(&self.owner)), &self.state_file, &self.lines)
            .map_err(|source| WriteLogError::State { path: self.options.state_dir.clone(), source })
    }

    /// Drops all records without replaying them.
    ///
    /// # Errors
    /// When the log's device fails.
    pub fn discard(&self) -> std::result::Result<(), WriteLogError> {
        Ok(self.log.trim(self.log.end())?)
    }

    /// Puts the log in front of an export, and replays the changes that a power failure has undone. `name` identifies
    /// the export. Exports of one disk are [attached together](WriteLog::attach_all).
    ///
    /// # Errors
    /// When the log has records of another directory of that name or of an export that its header does not name, and
    /// when changes cannot be replayed.
    pub fn attach(
        self: &Arc<Self>,
        name: &Path,
        inner: Arc<dyn FileSystem>,
    ) -> std::result::Result<(StableFs, Replayed), WriteLogError> {
        let attached = self.attach_all(vec![(name.to_owned(), inner)])?.pop();
        Ok(attached.unwrap_or_else(|| unreachable!("one was attached")))
    }

    /// Puts the log in front of exports, as [`WriteLog::attach`] does. A file may have names in several of them, so
    /// changes are replayed in the order in which they were made.
    ///
    /// # Errors
    /// As of [`WriteLog::attach`]; then none is attached.
    pub fn attach_all(
        self: &Arc<Self>,
        exports: Vec<(PathBuf, Arc<dyn FileSystem>)>,
    ) -> std::result::Result<Vec<(StableFs, Replayed)>, WriteLogError> {
        let is_started = self.is_started.load(Ordering::Acquire);
        if is_started && !exports.is_empty() {
            // The exports' earlier records are obsolete, and they may be other directories now.
            self.drain()?;
            exports.iter().for_each(|(name, _)| hold(&self.owner).forget(name));
        } else {
            self.drop_retired()?;
            self.check_named()?;
            self.check_server(&Counts::read(&self.log)?, &exports)?;
        }
        let entered: Vec<Entered> = exports.into_iter().map(|(name, inner)| self.enter(&name, inner)).collect();
        if is_started {
            self.store_owner()?;
        }
        let replayed = self.take_up(&entered)?;
        for Entered { export, .. } in &entered {
            if is_started {
                self.mark(export, true)?;
            }
            hold(&self.exports).as_mut().ok_or(WriteLogError::Closed)?.push(Arc::clone(export));
        }
        Ok(entered.into_iter().map(|entered| StableFs::new(entered.export)).zip(replayed).collect())
    }

    fn enter(self: &Arc<Self>, name: &Path, inner: Arc<dyn FileSystem>) -> Entered {
        let now = OwnedExport::of(name, &*inner);
        let (number, known) = hold(&self.owner).number_of(&now);
        let export = Arc::new(LoggedExport::new(inner, name, number, self));
        for line in &self.lines {
            match line {
                StateLine::Alias { export: of, outer, inner } if of == name => export.aliases.insert(*outer, *inner),
                StateLine::Failed { memory } if Some(*memory) == now.memory => export.old_pages.doubt(),
                StateLine::Replayed { export: of } if of == name => export.versions.count_replay(),
                _ => {}
            }
        }
        Entered { export, now, known }
    }

    /// What exports of the same storage share ([`FileSystem::storage`]).
    pub(crate) fn volume(&self, storage: Option<u64>) -> Arc<Volume> {
        let Some(storage) = storage else { return Arc::new(Volume::new()) };
        let mut volumes = hold(&self.volumes);
        let known = volumes.get(&storage).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let volume = Arc::new(Volume::new());
            volumes.insert(storage, Arc::downgrade(&volume));
            volume
        })
    }

    /// Replays what the log has of exports, or compares their data with it if the machine's memory has the changes.
    fn take_up(&self, entered: &[Entered]) -> std::result::Result<Vec<Replayed>, WriteLogError> {
        let mut replayed = vec![Replayed::default(); entered.len()];
        if self.has_failed() {
            return Ok(replayed);
        }
        let (counts, mut lost, mut kept) = (Counts::read(&self.log)?, Vec::new(), Vec::new());
        for (at, Entered { export, now, known }) in entered.iter().enumerate() {
            let records = counts.of(export.number);
            self.check_export(now, &*export.inner, (known.as_ref(), records))?;
            // Its disk may have failed, and a later start must not trust its names.
            self.check_writable(&export.name, &*export.inner, records).inspect_err(|_| self.lost(export))?;
            let has_memory = now.has_memory_of(known.as_ref()) && !self.has_lost(&export.name);
            match records {
                // Storage may have lost data that no log has.
                0 => export.inner.sync_all(&Context::ROOT).unwrap_or_else(|error| export.note_failure(&error)),
                _ if has_memory && !self.options.always_replay => kept.push(at),
                _ => lost.push(at),
            }
        }
        let exports = |numbers: &[usize]| numbers.iter().map(|at| &*entered[*at].export).collect::<Vec<_>>();
        if !kept.is_empty() {
            let made = replay::repair(&self.log, &exports(&kept), &self.state_file)?;
            kept.into_iter().zip(made).for_each(|(at, made)| replayed[at] = made);
        }
        if !lost.is_empty() {
            let exports = exports(&lost);
            let earlier = self.begin_replay(&exports)?;
            let made = replay::run(&self.log, &exports, &self.state_file, (&mut hold(&self.tickets), earlier))?;
            lost.into_iter().zip(made).for_each(|(at, made)| replayed[at] = made);
        }
        Ok(replayed)
    }

    /// Where the log is.
    pub fn path(&self) -> PathBuf {
        self.log.path()
    }

    pub(crate) fn site(&self) -> LogSite {
        LogSite::new(&self.log.path(), Some(&self.options.state_dir))
    }

    /// Makes this the log that an export depends on: the next start replays its records, even if the export has newer
    /// data. Returns how many records there are; `None` if the log has nothing of this directory, which then stays as
    /// it is. No server may use the export meanwhile.
    ///
    /// # Errors
    /// When the log has records of another directory of that name, or marks cannot be stored.
    pub fn adopt(
        self: &Arc<Self>,
        name: &Path,
        inner: Arc<dyn FileSystem>,
    ) -> std::result::Result<Option<u64>, WriteLogError> {
        let now = OwnedExport::of(name, &*inner);
        let (number, known) = hold(&self.owner).number_of(&now);
        let records = Counts::read(&self.log)?.of(number);
        if known.is_none_or(|known| !known.is_same_tree(&now)) {
            let error = || WriteLogError::OtherTree { export: name.to_owned(), records, site: self.site() };
            return if records > 0 { Err(error()) } else { Ok(None) };
        }
        let known = Known::of(name, &*inner, &self.lines)?;
        known.iter().filter(|known| !known.is_own).try_for_each(|known| self.check_known(known))?;
        hold(&self.owner).forget_memory(name);
        hold(&self.owner).server = Some(self.server_id()?);
        self.store_owner()?;
        self.keep_generation()?;
        self.mark(&LoggedExport::new(inner, name, number, self), true)?;
        Ok(Some(records))
    }

    /// Whether storage lost changes of an export before this start.
    fn has_lost(&self, export: &Path) -> bool {
        let line = StateLine::Lost { log: hold(&self.owner).id.clone(), export: export.to_owned() };
        self.lines.contains(&line)
    }

    /// Stores that a replay begins. Returns whether one of the same records had begun before.
    fn begin_replay(&self, exports: &[&LoggedExport]) -> std::result::Result<Earlier, WriteLogError> {
        let began = StateLine::Began { log: self.log.id(), tail: self.log.tail().bytes() };
        let earlier = if self.lines.contains(&began) { Earlier::Interrupted } else { Earlier::Absent };
        let replayed = exports.iter().map(|export| StateLine::Replayed { export: export.name.clone() });
        self.state_file.keep(&replayed.chain([began]).collect::<Vec<_>>())?;
        exports.iter().for_each(|export| export.versions.count_replay());
        Ok(earlier)
    }

    fn store_owner(&self) -> std::result::Result<(), WriteLogError> {
        if self.has_failed() {
            return Ok(());
        }
        Ok(self.log.set_owner(&hold(&self.owner).bytes())?)
    }

    /// Returns the requests that made name changes before a power failure, oldest first, as far as the log has their
    /// records. Returns each once, after all exports were attached.
    pub fn take_made_changes(&self) -> Vec<MadeChange> {
        hold(&self.tickets).take()
    }

    /// The file of changes that could not be replayed ([`Replayed::set_aside`]).
    pub fn set_aside_path(&self) -> PathBuf {
        self.state_file.set_aside_path()
    }

    /// Sets an `action` that runs before records are dropped, when their changes are in storage. It flushes other state
    /// of the requests that made these changes. It can be set once.
    pub fn before_trim(&self, action: impl Fn() + Send + Sync + 'static) {
        // A second action is ignored.
        let _ = self.before_trim.set(Box::new(action));
    }

    /// Starts to take changes; earlier records are no longer needed.
    ///
    /// # Errors
    /// When there are records of an export that was not attached, or the log's device fails.
    pub fn start(self: &Arc<Self>) -> std::result::Result<(), WriteLogError> {
        let counts = Counts::read(&self.log)?;
        let exports = self.exports()?;
        let attached: Vec<_> = exports.iter().map(|export| OwnedExport::of(&export.name, &*export.inner)).collect();
        let mut owner = hold(&self.owner);
        self.check_unnamed(counts.of_others(&owner.exports))?;
        self.check_all_are_there(&counts, &owner.exports, &attached)?;
        self.log.trim(self.log.end())?;
        owner.exports.retain(|owned| attached.iter().any(|export| export.name == owned.name));
        attached.iter().for_each(|export| owner.describe(export));
        // What storage has lost was replayed.
        owner.rename();
        owner.server = Some(self.server_id()?);
        self.log.set_owner(&owner.bytes())?;
        drop(owner);
        self.keep_generation()?;
        self.mark_all(&exports)?;
        self.is_started.store(true, Ordering::Release);
        for export in &exports {
            // Another error says nothing about the file.
            let is_gone = |found: Result<_>| matches!(found, Err(Error::Stale | Error::BadHandle | Error::NoEntry));
            export.aliases.bury(|inner| !is_gone(export.inner.attributes(&Context::ROOT, inner)));
        }
        Ok(())
    }

    /// Starts a thread that flushes and trims the log when it is full or old.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn trim_in_background(self: &Arc<Self>) -> std::result::Result<(), WriteLogError> {
        let (log, trimmer) = (Arc::clone(self), std::thread::Builder::new().name("write-log".to_owned()));
        trimmer.spawn(move || while log.trim_when_wanted() {}).map_err(WriteLogError::Thread)?;
        Ok(())
    }

    /// Flushes all changes to storage and empties the log.
    ///
    /// # Errors
    /// When the storage or the log's device fails.
    pub fn drain(&self) -> std::result::Result<(), WriteLogError> {
        if !self.has_failed() {
            return self.trim();
        }
        let lost = self.exports()?.into_iter().find(|export| export.has_lost());
        lost.map_or(Ok(()), |export| Err(WriteLogError::Lost { export: export.name.clone() }))
    }

    /// Detaches all exports but these.
    ///
    /// # Errors
    /// When their changes cannot be flushed; then nothing is detached.
    pub fn keep(&self, names: &[PathBuf]) -> std::result::Result<(), WriteLogError> {
        let exports = self.exports()?;
        if exports.iter().all(|export| names.contains(&export.name)) {
            return Ok(());
        }
        let (kept, dropped): (Vec<_>, Vec<_>) = exports.iter().partition(|export| names.contains(&export.name));
        dropped.iter().for_each(|export| export.detach());
        self.drain()?;
        // A directory may stay by another path.
        let roots: Vec<_> = kept.iter().map(|export| mark::root(&*export.inner)).collect();
        let stays = |export: &LoggedExport| roots.iter().any(|root| mark::is_one(*root, mark::root(&*export.inner)));
        for export in dropped.into_iter().filter(|export| !stays(export)) {
            self.mark(export, false)?;
        }
        hold(&self.exports).iter_mut().for_each(|exports| exports.retain(|export| names.contains(&export.name)));
        hold(&self.owner).exports.retain(|owned| names.contains(&owned.name));
        self.store_owner()
    }

    /// Detaches the exports and ends the trimming thread. No change may follow. If the log was started and is empty,
    /// the exports no longer depend on it. What is in the log stays there.
    pub fn close(&self) {
        self.trimmer.want(TrimRequest::End);
        let _last_trim_ends = hold(&self.trimming);
        let exports = hold(&self.exports).take().unwrap_or_default();
        let is_empty = !self.has_failed() && self.log.tail() == self.log.end();
        let is_started = self.is_started.load(Ordering::Acquire);
        let is_drained = is_started && is_empty && !exports.iter().any(|export| export.has_lost());
        if is_drained && let Err(error) = exports.iter().try_for_each(|export| self.mark(export, false)) {
            tracing::error!(%error, "the exports still count as depending on the write log");
        }
    }

    /// How the log is doing.
    pub fn status(&self) -> Status {
        self.log.status()
    }

    /// Whether the log's device has failed, so that every change is flushed to storage.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }

    /// The most bytes of data in one record.
    pub(crate) fn max_data_bytes(&self) -> usize {
        // The head of a record is far smaller.
        self.log.max_record_bytes() - 1024
    }

    pub(crate) fn end(&self) -> Position {
        self.log.end()
    }

    /// Appends the record of a change that was made. [`WriteLog::settle`] reports errors.
    pub(crate) fn append(&self, head: &[u8], payload: &[u8]) -> Pending {
        if !self.takes_records() {
            return Pending::Unlogged;
        }
        self.log
            .append_or(&[head, payload], || self.trimmer.want(TrimRequest::Trim))
            .map_or_else(|error| self.refuse(&error), Pending::Logged)
    }

    /// Appends the record of a change that is not made yet. `None` when the log takes no records.
    pub(crate) fn append_ahead(&self, head: &[u8]) -> Option<Ahead<'_>> {
        if !self.takes_records() {
            return None;
        }
        self.log
            .append_ahead(&[head], || self.trimmer.want(TrimRequest::Trim))
            .map_err(|error| self.refuse(&error))
            .ok()
    }

    /// When the log is full for good, no export may continue without it: the next start would replay older changes over
    /// newer ones.
    fn refuse(&self, error: &LogError) -> Pending {
        if matches!(error, LogError::Full { .. }) {
            self.exports().iter().flatten().for_each(|export| export.lose());
        }
        Pending::Unlogged
    }

    /// Whether the log takes records; wakes the trimming thread when the log is filling up.
    fn takes_records(&self) -> bool {
        if self.has_failed() {
            return false;
        }
        if self.is_above(self.options.high_water) {
            self.trimmer.want(TrimRequest::Trim);
        }
        true
    }

    /// Whether a stable write of this many bytes should be flushed to storage instead of logged.
    pub(crate) fn passes(&self, bytes: usize) -> bool {
        bytes >= self.options.large_write_bytes && !self.log.is_quick()
    }

    /// Whether an event loop may wait for a small record.
    pub(crate) fn is_quick(&self) -> bool {
        self.log.is_quick() && !self.has_failed() && !self.is_above(self.options.high_water)
    }

    /// Waits until a change is durable.
    pub(crate) fn settle(&self, export: &LoggedExport, pending: &Pending) -> Result<()> {
        if let Pending::Logged(position) = *pending
            && self.log.wait(position).is_ok()
        {
            return Ok(());
        }
        if self.log.has_failed() {
            self.fall_back();
        }
        export.flush_all()
    }

    /// Stores an alias for a file whose own handle is taken.
    pub(crate) fn keep_alias(&self, export: &LoggedExport, outer: Handle, inner: Handle) -> Result<()> {
        let line = StateLine::Alias { export: export.name.clone(), outer, inner };
        self.state_file.keep(&[line]).map_err(|error| Error::Io(io::Error::other(error)))?;
        export.aliases.insert(outer, inner);
        Ok(())
    }

    /// Falls back to synchronous changes, once: flushes everything to storage, and makes sure that no later start
    /// replays the log.
    fn fall_back(&self) {
        let mut fallback = hold(&self.falling_back);
        if *fallback == Fallback::Done {
            return;
        }
        // A change made after the flush below sees this flag, and is flushed on its own.
        self.has_failed.store(true, Ordering::SeqCst);
        tracing::error!(
            "the write log's device has failed: every change is brought to storage by itself from now on, which is slow; \
             replace the device, and start the server again"
        );
        if let Err(error) = self.retire() {
            // The next start replays the log: later changes must not follow.
            tracing::error!(%error, "the write log cannot be retired");
            self.exports().iter().flatten().for_each(|export| export.lose());
        }
        *fallback = Fallback::Done;
    }

    /// Flushes everything to storage, and makes sure that no later start replays the log.
    fn retire(&self) -> std::result::Result<(), WriteLogError> {
        let exports = self.exports()?;
        for export in &exports {
            export.flush_all().map_err(|source| export.unsynced_error(source))?;
        }
        let id = hold(&self.owner).id.clone();
        self.state_file.keep(&[StateLine::Retired { log: id }])?;
        exports.iter().try_for_each(|export| self.mark(export, false))
    }

    /// Makes the next start replay an export's changes, because its storage has lost some, and those of all other
    /// exports of this storage, which hear nothing of it.
    pub(crate) fn lost(&self, export: &LoggedExport) {
        tracing::error!(
            export = %quoted(&export.name),
            "storage has failed to take changes, which only the write log has now: nothing is changed any more; {REPAIR}, \
             which makes these changes again"
        );
        self.log.end_trims();
        let lost = hold(&self.owner).forget_memory(&export.name);
        for other in self.exports().iter().flatten().filter(|other| lost.contains(&other.name)) {
            other.note_loss();
        }
        self.note_failure(export);
        if let Err(error) = self.note_lost(lost) {
            let command = self.site().replay();
            tracing::error!(%error, "the write log cannot note that; run {command} before the next start");
        }
    }

    /// Stores that storage has failed, for later starts whose memory has what it has now.
    pub(crate) fn note_failure(&self, export: &LoggedExport) {
        let Some(memory) = export.inner.memory() else { return };
        if let Err(error) = self.state_file.keep(&[StateLine::Failed { memory: memory.number }]) {
            tracing::error!(
                export = %quoted(&export.name),
                %error,
                "the next start will not know that the disk has failed: unmount the file system before it"
            );
        }
    }

    /// Stores that the changes of exports must be replayed: in the log or, if its device has failed too, beside it.
    fn note_lost(&self, exports: Vec<PathBuf>) -> std::result::Result<(), WriteLogError> {
        let owner = hold(&self.owner);
        if self.log.set_owner(&owner.bytes()).is_ok() {
            return Ok(());
        }
        let line = |export| StateLine::Lost { log: owner.id.clone(), export };
        self.state_file.keep(&exports.into_iter().map(line).collect::<Vec<_>>())
    }

    /// Waits for work and trims. `false` when the thread must end.
    fn trim_when_wanted(&self) -> bool {
        let wanted = self.trimmer.wait();
        if wanted == TrimRequest::End || self.has_failed() {
            return false;
        }
        let Ok(exports) = self.exports() else { return false };
        self.keep_end();
        let has_lost = exports.iter().any(|export| export.has_lost());
        let is_due = !has_lost && (wanted == TrimRequest::Trim || self.is_old() || self.knows_many_files());
        match if is_due { self.trim_to_low_water() } else { Ok(()) } {
            Ok(()) => true,
            Err(WriteLogError::Closed) => false,
            Err(error) => {
                tracing::error!(%error, "the write log cannot be trimmed: when it is full, changes wait");
                std::thread::sleep(BETWEEN_LOOKS);
                true
            }
        }
    }

    fn trim_to_low_water(&self) -> std::result::Result<(), WriteLogError> {
        self.trim()?;
        if self.is_above(self.options.low_water) { self.trim() } else { Ok(()) }
    }

    fn trim(&self) -> std::result::Result<(), WriteLogError> {
        let _others_wait = hold(&self.trimming);
        let exports = self.exports()?;
        if let Some(export) = exports.iter().find(|export| export.has_lost()) {
            return Err(WriteLogError::Lost { export: export.name.clone() });
        }
        // A record behind `end` stays. Its file must count as unsynced when a client changes it without the log while
        // other exports are flushed: a replay would set the older attributes of the record again.
        let mut volumes: Vec<_> = exports.iter().map(|export| Arc::clone(&export.volume)).collect();
        volumes.sort_unstable_by_key(Arc::as_ptr);
        volumes.dedup_by(|one, other| Arc::ptr_eq(one, other));
        volumes.iter().for_each(|volume| volume.unsynced.begin_flush());
        let end = self.log.made_end();
        let flush = |export: &Arc<LoggedExport>| export.flush_all().map_err(|source| export.unsynced_error(source));
        let synced = exports.iter().map(flush).fold(Ok(()), std::result::Result::and);
        volumes.iter().for_each(|volume| volume.unsynced.end_flush(synced.is_ok()));
        synced?;
        if let Some(before_trim) = self.before_trim.get() {
            before_trim();
        }
        self.log.trim(end)?;
        volumes.iter().for_each(|volume| volume.unsynced.trimmed(end));
        if let Err(error) = self.keep_generation() {
            tracing::error!(%error, "a start with an older copy of the write log would not be refused");
        }
        Ok(())
    }

    /// The attached exports.
    fn exports(&self) -> std::result::Result<Vec<Arc<LoggedExport>>, WriteLogError> {
        hold(&self.exports).clone().ok_or(WriteLogError::Closed)
    }

    fn is_above(&self, share: f64) -> bool {
        let used = self.log.end().bytes() - self.log.tail().bytes();
        used as f64 > self.log.room_bytes() as f64 * share
    }

    fn is_old(&self) -> bool {
        self.log.status().oldest_age.is_some_and(|age| age > self.options.max_age)
    }

    fn knows_many_files(&self) -> bool {
        self.exports().iter().flatten().any(|export| export.volume.unsynced.len() > MAX_UNSYNCED_FILES)
    }
}

impl LoggedExport {
    fn unsynced_error(&self, source: Error) -> WriteLogError {
        WriteLogError::Storage { export: self.name.clone(), source }
    }
}

impl Trimmer {
    fn want(&self, wanted: TrimRequest) {
        let mut now = hold(&self.wanted);
        if *now == TrimRequest::Nothing || wanted == TrimRequest::End {
            *now = wanted;
            self.changed.notify_one();
        }
    }

    fn wait(&self) -> TrimRequest {
        let wanted = hold(&self.wanted);
        let woken = self.changed.wait_timeout_while(wanted, BETWEEN_LOOKS, |wanted| *wanted == TrimRequest::Nothing);
        let (mut wanted, _) = woken.unwrap_or_else(PoisonError::into_inner);
        let now = *wanted;
        if now == TrimRequest::Trim {
            *wanted = TrimRequest::Nothing;
        }
        now
    }
}

fn hold<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
