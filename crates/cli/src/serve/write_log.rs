//! The write log of a server, and the exports that use it.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use config::{ExportSpec, Source, WriteLogPlace, WriteLogSettings};
use daemon::MadeBefore;
use rustix::fs::{Access, access};
use stable::{
    Device, FileDevice, LogSite, MadeChange, MemoryDevice, Options, Replayed, StableFs, Status, WriteLog, WriteLogError,
};
use vfs::{FileSystem, quoted};

use crate::failure::{ExportError, Failure};

const DEFAULT_SIZE_BYTES: u64 = 256 << 20;
const MIN_SIZE_BYTES: u64 = 1 << 20;
const PERCENT: f64 = 100.0;

/// The open write log of a server.
pub struct ServedLog {
    log: Arc<WriteLog>,
    is_started: bool,
    /// A file that was made for the log, until an export depends on it.
    unused: Arc<Mutex<Option<PathBuf>>>,
    state_dir: PathBuf,
}

impl Drop for ServedLog {
    /// Removes a file that a start made which was then refused.
    fn drop(&mut self) {
        if let Some(path) = self.unused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // An empty log in the way changes nothing.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl ServedLog {
    /// Opens the configured log, after [`check`], and creates it if it is missing.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(settings: &WriteLogSettings, state_dir: Option<&Path>) -> Result<Option<ServedLog>, Failure> {
        let (Some(place), Some(state_dir)) = (&settings.path, state_dir) else { return Ok(None) };
        let size_bytes = size_bytes(settings);
        let unused = new_file(settings).map(Path::to_owned);
        let device: Arc<dyn Device> = match place {
            WriteLogPlace::Path(path) => {
                check_missing(path, state_dir)?;
                file(path, size_bytes)?
            }
            WriteLogPlace::Memory => {
                tracing::warn!("the write log is in memory: acknowledged changes are lost if this process is killed");
                Arc::new(MemoryDevice::new(usize::try_from(size_bytes).unwrap_or(usize::MAX)))
            }
        };
        let log = WriteLog::open_or_begin(device, options(settings, state_dir))?;
        let state_dir = state_dir.to_owned();
        let replies = state_dir.clone();
        log.before_trim(move || daemon::sync_replies(&replies));
        Ok(Some(ServedLog { log, is_started: false, unused: Arc::new(Mutex::new(unused)), state_dir }))
    }

    /// Puts the log in front of directories. Before the log is started, these are all that it will have.
    ///
    /// # Errors
    /// When the log does not fit to the directories, or changes cannot be replayed.
    pub fn attach(&self, dirs: Vec<(PathBuf, Arc<dyn FileSystem>)>) -> Result<Vec<Arc<dyn FileSystem>>, WriteLogError> {
        if !self.is_started {
            self.log.check_exports(&dirs)?;
        }
        attach(&self.log, dirs)?.into_iter().map(|(fs, _)| Ok(Arc::new(fs) as _)).collect()
    }

    /// Starts the log for the attached directories, and drops earlier records. Their requests must be among the kept
    /// replies then.
    pub fn starter(&mut self) -> daemon::BeforeRequests {
        self.is_started = true;
        let (log, unused, state_dir) = (Arc::clone(&self.log), Arc::clone(&self.unused), self.state_dir.clone());
        daemon::BeforeRequests::new(move || {
            let started = log.start().and_then(|()| log.trim_in_background());
            if let Err(error) = started {
                log.close();
                if !stable::exports_of_log(&log.path(), &state_dir).is_ok_and(|exports| exports.is_empty()) {
                    unused.lock().unwrap_or_else(PoisonError::into_inner).take();
                }
                return Err(error.into());
            }
            if let Some(path) = unused.lock().unwrap_or_else(PoisonError::into_inner).take() {
                tracing::info!(path = %quoted(&path), "made the write log");
            }
            Ok(())
        })
    }

    /// Detaches all other directories, after the log was started.
    ///
    /// # Errors
    /// When their changes cannot be flushed.
    pub fn keep(&self, dirs: &[PathBuf]) -> Result<(), WriteLogError> {
        if self.is_started { self.log.keep(dirs) } else { Ok(()) }
    }

    /// The name changes that requests made before a power failure.
    pub fn take_made_changes(&self) -> Vec<MadeBefore> {
        let made = self.log.take_made_changes().into_iter();
        made.map(|MadeChange { ticket, file }| MadeBefore { ticket, file }).collect()
    }

    /// Brings everything to storage.
    ///
    /// # Errors
    /// When the next start needs the log.
    pub fn drain(&self) -> Result<(), Failure> {
        self.log.drain().map_err(|source| Failure::LogNotEmpty { path: self.log.path(), source: Box::new(source) })
    }

    /// Closes the log after the server has ended.
    pub fn close(&self) {
        self.log.close();
    }

    /// The state of the log.
    pub fn status(&self) -> Status {
        self.log.status()
    }
}

/// Checks the settings without opening the log, which a running server may have open.
pub fn check(settings: &WriteLogSettings, state_dir: Option<&Path>) -> Vec<Failure> {
    let Some(place) = &settings.path else {
        let named = WriteLogSettings { lose_my_data: settings.lose_my_data, ..WriteLogSettings::default() };
        return if *settings == named { Vec::new() } else { vec![Failure::WriteLogUnnamed] };
    };
    let mut failures = Vec::new();
    if !fs_host::whole_flushes_report_failures() {
        failures.push(Failure::WriteLogKernel);
    }
    if state_dir.is_none() {
        failures.push(Failure::WriteLogWithoutState);
    }
    match place {
        WriteLogPlace::Path(path) => match check_place(path) {
            Ok(()) if settings.lose_my_data != Some(true) => failures.extend(check_storage(path, state_dir)),
            checked => failures.extend(checked.err()),
        },
        WriteLogPlace::Memory if settings.lose_my_data == Some(true) => {}
        WriteLogPlace::Memory => failures.push(Failure::WriteLogInMemory),
    }
    failures.extend(check_sizes(settings));
    failures
}

/// Refuses places that a power failure empties.
fn check_storage(path: &Path, state_dir: Option<&Path>) -> Vec<Failure> {
    let log = lost_with_power(path).map(|place| Failure::WriteLogOnMemory { path: path.to_owned(), place });
    let state = state_dir.and_then(|dir| {
        lost_with_power(dir).map(|place| Failure::WriteLogStateOnMemory { path: dir.to_owned(), place })
    });
    log.into_iter().chain(state).collect()
}

/// Another check names the error.
fn lost_with_power(path: &Path) -> Option<String> {
    fs_host::lost_with_power(path).ok()?
}

/// What a power failure may undo because of where the log and the state directory are, and does not refuse a start.
pub fn shortfalls(settings: &WriteLogSettings, state_dir: Option<&Path>) -> Vec<String> {
    let log = match &settings.path {
        Some(WriteLogPlace::Path(path)) => Some(path.as_path()),
        _ => None,
    };
    let in_memory = state_dir.filter(|_| settings.lose_my_data != Some(true)).and_then(|dir| {
        let place = lost_with_power(dir)?;
        Some(format!(
            "the state directory {} is on {place}: after a power failure clients' handles may be stale, their locks are \
             lost, and requests that they repeat may be executed twice; choose a directory on a disk with --state-dir \
             DIR, or accept that with --lose-my-data",
            quoted(dir)
        ))
    });
    let cached = |what, path: &Path| {
        fs_host::left_in_cache(path).ok()?.map(|why| format!("the {what} {} is on {why}", quoted(path)))
    };
    let log = log.and_then(|path| cached("write log", path));
    let state = state_dir.and_then(|dir| cached("state directory", dir));
    in_memory.into_iter().chain(log).chain(state).collect()
}

/// Refuses directories that a start with this log would refuse, and changes nothing.
///
/// # Errors
/// As of a start, but for those of a replay.
pub fn check_dirs(
    settings: &WriteLogSettings,
    state_dir: &Path,
    dirs: Vec<(PathBuf, Arc<dyn FileSystem>)>,
) -> Result<(), WriteLogError> {
    let device = match &settings.path {
        Some(WriteLogPlace::Path(path)) if path.exists() => Some(Arc::new(FileDevice::open(path)?) as Arc<dyn Device>),
        Some(WriteLogPlace::Path(path)) => {
            check_missing(path, state_dir)?;
            None
        }
        _ => None,
    };
    WriteLog::check(device, options(settings, state_dir), &dirs)?;
    new_file(settings).map_or(Ok(()), |path| Ok(FileDevice::check_room(path, size_bytes(settings))?))
}

/// Where a start makes a file for the log.
pub fn new_file(settings: &WriteLogSettings) -> Option<&Path> {
    match &settings.path {
        Some(WriteLogPlace::Path(path)) if !path.exists() => Some(path),
        _ => None,
    }
}

fn size_bytes(settings: &WriteLogSettings) -> u64 {
    settings.size.unwrap_or(DEFAULT_SIZE_BYTES)
}

/// Refuses a size that no log can have, and water marks that contradict each other.
fn check_sizes(settings: &WriteLogSettings) -> Vec<Failure> {
    let size_bytes = size_bytes(settings);
    let small =
        (size_bytes < MIN_SIZE_BYTES).then_some(Failure::WriteLogSize { size_bytes, min_bytes: MIN_SIZE_BYTES });
    let options = options(settings, Path::new(""));
    let marks = (options.low_water > options.high_water).then(|| Failure::WriteLogMarks {
        high: (options.high_water * PERCENT).round() as u8,
        low: (options.low_water * PERCENT).round() as u8,
    });
    small.into_iter().chain(marks).collect()
}

/// Refuses a place where no log can be opened or created.
fn check_place(path: &Path) -> Result<(), Failure> {
    let failed = |source| Failure::WriteLogPlace { path: path.to_owned(), source };
    let kind = path.metadata().map(|found| found.file_type());
    if kind.is_ok_and(|kind| !kind.is_file() && !kind.is_block_device()) {
        return Err(failed(io::Error::other("it is neither a file nor a block device")));
    }
    if let (Ok(target), false) = (path.read_link(), path.exists()) {
        let why = format!(
            "it is a symbolic link to {}, which is missing: bring that back or remove the link",
            quoted(target)
        );
        return Err(failed(io::Error::other(why)));
    }
    let (place, wanted) = match path.parent() {
        Some(parent) if !path.exists() => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            (parent, Access::WRITE_OK | Access::EXEC_OK)
        }
        _ => (path, Access::READ_OK | Access::WRITE_OK),
    };
    access(place, wanted).map_err(|errno| failed(errno.into()))
}

/// Refuses an export through which clients could read and change the log.
///
/// # Errors
/// When the log is inside the export's directory.
pub fn check_outside(settings: &WriteLogSettings, spec: &ExportSpec) -> Result<(), ExportError> {
    let (Some(WriteLogPlace::Path(path)), Source::Dir(dir)) = (&settings.path, &spec.source) else { return Ok(()) };
    // A missing directory is reported as such.
    if dir.exists() && fs_host::is_inside(path, dir).unwrap_or(true) {
        return Err(ExportError::WriteLogInside { path: path.clone() });
    }
    Ok(())
}

/// Exports of earlier starts that are not served now, and of which acknowledged changes may be in another log alone.
///
/// # Errors
/// When the state directory cannot be read.
pub fn left_behind<'s>(
    settings: &WriteLogSettings,
    specs: &'s [ExportSpec],
    state_dir: Option<&Path>,
) -> Result<Vec<String>, WriteLogError> {
    let log = match &settings.path {
        Some(WriteLogPlace::Path(path)) => Some(path.as_path()),
        _ => None,
    };
    let dir = |spec: &'s ExportSpec| if let Source::Dir(dir) = &spec.source { Some(dir.as_path()) } else { None };
    let dirs: Vec<&Path> = specs.iter().filter_map(dir).collect();
    let left = stable::left_behind(&dirs, log, state_dir)?;
    Ok(left.iter().map(|error| format!("an export of an earlier start is not served now: {error}")).collect())
}

/// Refuses a missing log that exports need.
///
/// # Errors
/// [`WriteLogError::MissingLog`], or when the state directory cannot be read.
pub fn check_missing(path: &Path, state_dir: &Path) -> Result<(), WriteLogError> {
    if path.exists() {
        return Ok(());
    }
    let exports = stable::exports_of_log(path, state_dir)?;
    let site = LogSite::new(path, Some(state_dir));
    if exports.is_empty() {
        stable::check_may_make_log(state_dir)
    } else {
        Err(WriteLogError::MissingLog { site, exports })
    }
}

fn file(path: &Path, size_bytes: u64) -> Result<Arc<dyn Device>, WriteLogError> {
    if path.exists() {
        return Ok(Arc::new(FileDevice::open(path)?));
    }
    Ok(Arc::new(FileDevice::create(path, size_bytes)?))
}

fn options(settings: &WriteLogSettings, state_dir: &Path) -> Options {
    let defaults = Options::new(state_dir.to_owned());
    let share = |percent: Option<u8>, default| percent.map_or(default, |percent| f64::from(percent) / PERCENT);
    Options {
        high_water: share(settings.high_water, defaults.high_water),
        low_water: share(settings.low_water, defaults.low_water),
        max_age: settings.max_age.unwrap_or(defaults.max_age),
        is_expendable: settings.lose_my_data == Some(true),
        ..defaults
    }
}

/// Puts a log in front of directories, and logs what was replayed.
pub fn attach(
    log: &Arc<WriteLog>,
    dirs: Vec<(PathBuf, Arc<dyn FileSystem>)>,
) -> Result<Vec<(StableFs, Replayed)>, WriteLogError> {
    let paths: Vec<PathBuf> = dirs.iter().map(|(dir, _)| dir.clone()).collect();
    let attached = log.attach_all(dirs)?;
    paths.iter().zip(&attached).for_each(|(dir, (_, replayed))| tell(dir, replayed));
    Ok(attached)
}

fn tell(dir: &Path, replayed: &Replayed) {
    let Replayed { records, compared, checked_bytes, made, names, data_bytes, set_aside } = *replayed;
    let dir = quoted(dir);
    if compared {
        tracing::warn!(
            %dir, records, made, names, data_bytes, set_aside,
            "replayed the write log: names, data and attributes were compared with it"
        );
    } else if data_bytes + set_aside > 0 {
        tracing::warn!(
            %dir, records, checked_bytes, data_bytes, set_aside,
            "compared the write log with storage, and wrote data again that storage lost or may have lost"
        );
    } else if records > 0 {
        tracing::info!(
            %dir, records, checked_bytes,
            "flushed changes of the write log to storage, and compared the data with it"
        );
    }
}
