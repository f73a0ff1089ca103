//! The write log of a server, and the exports that use it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::{ExportSpec, Source, WriteLogPlace, WriteLogSettings};
use daemon::MadeBefore;
use stable::{Device, FileDevice, MadeChange, MemoryDevice, Options, Replayed, Status, WriteLog, WriteLogError};
use vfs::FileSystem;

use crate::failure::{ExportError, Failure};

const DEFAULT_SIZE_BYTES: u64 = 256 << 20;
const PERCENT: f64 = 100.0;

/// The open write log of a server.
pub struct ServedLog {
    log: Arc<WriteLog>,
    /// Its path, unless it is in memory.
    path: Option<PathBuf>,
    is_started: bool,
}

impl ServedLog {
    /// Opens the configured log, and creates it if it is missing.
    ///
    /// # Errors
    /// When it cannot be opened, when clients could change it through one of `exports`, or the settings contradict each
    /// other.
    pub fn open(
        settings: &WriteLogSettings,
        state_dir: Option<&Path>,
        exports: &[ExportSpec],
    ) -> Result<Option<ServedLog>, Failure> {
        let Some(place) = &settings.path else { return Ok(None) };
        if let WriteLogPlace::Path(path) = place {
            exports.iter().try_for_each(|spec| check_outside(path, spec))?;
        }
        if !fs_host::whole_flushes_report_failures() {
            return Err(Failure::WriteLogKernel);
        }
        let state_dir = state_dir.ok_or(Failure::WriteLogWithoutState)?;
        let size_bytes = settings.size.unwrap_or(DEFAULT_SIZE_BYTES);
        let (device, path): (Arc<dyn Device>, _) = match place {
            WriteLogPlace::Path(path) => (file(path, size_bytes)?, Some(path.clone())),
            WriteLogPlace::Memory if settings.lose_my_data != Some(true) => return Err(Failure::WriteLogInMemory),
            WriteLogPlace::Memory => {
                tracing::warn!("the write log is in memory: acknowledged changes are lost if this process is killed");
                let device = Arc::new(MemoryDevice::new(usize::try_from(size_bytes).unwrap_or(usize::MAX)));
                WriteLog::create(Arc::clone(&device) as _)?;
                (device, None)
            }
        };
        let log = WriteLog::open(device, options(settings, state_dir))?;
        let replies = state_dir.to_owned();
        log.before_trim(move || daemon::sync_replies(&replies));
        Ok(Some(ServedLog { log, path, is_started: false }))
    }

    /// Puts the log in front of a directory.
    ///
    /// # Errors
    /// When clients could read the log, and when changes cannot be replayed.
    pub fn attach(&self, dir: &Path, inner: Arc<dyn FileSystem>) -> Result<Arc<dyn FileSystem>, ExportError> {
        self.path.iter().try_for_each(|path| check_not_inside(path, dir))?;
        let (fs, replayed) = self.log.attach(&dir.to_string_lossy(), inner)?;
        tell(dir, &replayed);
        Ok(Arc::new(fs))
    }

    /// Starts the log for the attached directories, and drops earlier records. Their requests must be among the kept
    /// replies then.
    pub fn starter(&mut self) -> daemon::BeforeRequests {
        self.is_started = true;
        let log = Arc::clone(&self.log);
        daemon::BeforeRequests::new(move || {
            log.start()?;
            Ok(log.trim_in_background()?)
        })
    }

    /// Detaches all other directories, after the log was started.
    ///
    /// # Errors
    /// When their changes cannot be flushed.
    pub fn keep(&self, dirs: &[PathBuf]) -> Result<(), WriteLogError> {
        let names: Vec<_> = dirs.iter().map(|dir| dir.to_string_lossy().into_owned()).collect();
        if self.is_started { self.log.keep(&names) } else { Ok(()) }
    }

    /// The name changes that requests made before a power failure.
    pub fn take_made_changes(&self) -> Vec<MadeBefore> {
        let made = self.log.take_made_changes().into_iter();
        made.map(|MadeChange { ticket, file }| MadeBefore { ticket, file }).collect()
    }

    /// Brings everything to storage.
    pub fn drain(&self) {
        if let Err(error) = self.log.drain() {
            tracing::error!(%error, "the write log is not empty: it is needed at the next start");
        }
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

fn check_outside(path: &Path, spec: &ExportSpec) -> Result<(), Failure> {
    let Source::Dir(dir) = &spec.source else { return Ok(()) };
    check_not_inside(path, dir).map_err(|source| Failure::Export { origin: spec.origin.clone(), source })
}

fn check_not_inside(path: &Path, dir: &Path) -> Result<(), ExportError> {
    // A missing directory is reported later.
    if dir.exists() && fs_host::is_inside(path, dir).unwrap_or(true) {
        return Err(ExportError::WriteLogInside { path: path.to_owned() });
    }
    Ok(())
}

fn file(path: &Path, size_bytes: u64) -> Result<Arc<dyn Device>, WriteLogError> {
    if path.exists() {
        let device = Arc::new(FileDevice::open(path)?);
        return match WriteLog::create(Arc::clone(&device) as _) {
            Ok(()) | Err(WriteLogError::Log(stable::LogError::NotBlank { .. })) => Ok(device),
            Err(error) => Err(error),
        };
    }
    tracing::info!(path = %path.display(), size_bytes, "creating the write log");
    let device = Arc::new(FileDevice::create(path, size_bytes)?);
    WriteLog::create(Arc::clone(&device) as _)?;
    Ok(device)
}

fn options(settings: &WriteLogSettings, state_dir: &Path) -> Options {
    let defaults = Options::new(state_dir.to_owned());
    let share = |percent: Option<u8>, default| percent.map_or(default, |percent| f64::from(percent) / PERCENT);
    Options {
        high_water: share(settings.high_water, defaults.high_water),
        low_water: share(settings.low_water, defaults.low_water),
        max_age: settings.max_age.unwrap_or(defaults.max_age),
        ..defaults
    }
}

/// Logs what was replayed.
pub fn tell(dir: &Path, replayed: &Replayed) {
    let Replayed { records, compared, made, names, data_bytes, conflicts } = *replayed;
    let dir = dir.display();
    if compared {
        tracing::warn!(
            %dir, records, made, names, data_bytes, conflicts,
            "replayed the write log after a power failure"
        );
    } else if records > 0 {
        tracing::info!(%dir, records, "flushed changes of the write log to storage");
    }
}
