use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use config::{LogLevel, LogSettings};
use daemon::StateLock;
use fs_host::{HostFs, HostOptions};
use stable::{FileDevice, Options, WriteLog, WriteLogError};
use vfs::{FileSystem, counted};

use super::state_dir::StateDirFlag;
use crate::failure::{ExportError, Failure};
use crate::serve::{attach_to_log, check_missing, explained, start_logging};

/// Replay a write log to its exports, and empty it.
///
/// A server does this itself when it starts after a power failure. Use it after disks were restored or copied, or when
/// the server does not start.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(flatten)]
    pub(super) site: Site,
}

/// A log, and the state directory of its server.
#[derive(Debug, Args)]
pub struct Site {
    /// The log: a file or a block device.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    #[command(flatten)]
    state_dir: StateDirFlag,
}

/// A log that no server uses.
pub(super) struct OpenSite {
    pub(super) log: Arc<WriteLog>,
    pub(super) state_dir: PathBuf,
    _lock: StateLock,
}

/// Replays the log.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    flags.site.empty(true)
}

impl Site {
    pub(super) fn state_dir(&self) -> Result<PathBuf, Failure> {
        self.state_dir.path()
    }

    /// Opens the log, and keeps servers from its state directory.
    pub(super) fn open(&self, always_replay: bool) -> Result<OpenSite, Failure> {
        let state_dir = self.state_dir()?;
        let lock = lock(&state_dir)?;
        Ok(OpenSite { log: self.open_log(&state_dir, always_replay)?, state_dir, _lock: lock })
    }

    /// Opens the log, for a state directory that is locked.
    fn open_log(&self, state_dir: &Path, always_replay: bool) -> Result<Arc<WriteLog>, Failure> {
        check_missing(&self.path, state_dir)?;
        let options = Options { always_replay, ..Options::new(state_dir.to_owned()) };
        Ok(WriteLog::open(Arc::new(FileDevice::open(&self.path)?), options)?)
    }

    /// Flushes everything in the log to storage, and empties it.
    pub(super) fn empty(&self, always_replay: bool) -> Result<(), Failure> {
        start_logging(LogSettings { level: Some(LogLevel::Warn), ..LogSettings::default() });
        let OpenSite { log, state_dir, _lock } = self.open(always_replay)?;
        let kept = log.kept()?;
        let changes: u64 = kept.iter().map(|(_, records)| *records).sum();
        if changes > 0 && !log.is_known()? {
            let server = server_of(&log, kept.iter().map(|(dir, _)| dir));
            return Err(Failure::LogOfOtherState { path: self.path.clone(), state_dir, server });
        }
        let (mut claims, mut dirs) = (Claims::default(), Vec::<(PathBuf, Arc<dyn FileSystem>)>::new());
        for (dir, records) in kept {
            // A server with another log must not mark the directory before this one is released.
            match claims.open(&dir, &state_dir) {
                Ok(host) => dirs.push((dir, host)),
                Err(failure) if records > 0 => return Err(failure),
                // It may be gone or in use, and the log has nothing of it.
                Err(_) => {}
            }
        }
        let replayed = attach_to_log(&log, dirs)?;
        let set_aside = replayed.iter().map(|(_, replayed)| replayed.set_aside).sum();
        log.start()?;
        log.close();
        match changes {
            _ if set_aside > 0 => {
                return Err(Failure::SetAside { changes, set_aside, path: log.set_aside_path() });
            }
            0 => eprintln!("wharf: the log had no changes"),
            changes => {
                let brought = counted(changes, "change was", "changes were");
                eprintln!("wharf: {brought} brought to storage, and the log is empty");
            }
        }
        Ok(())
    }

    /// Where the log is, or was.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Keeps servers from a state directory.
pub(super) fn lock(state_dir: &Path) -> Result<StateLock, Failure> {
    daemon::lock_state_dir(state_dir).map_err(|error| match explained(Failure::Start(error.into())) {
        Failure::StateInUse { dir, holder } => Failure::LogInUse { dir, holder },
        failure => failure,
    })
}

/// Directories of a log whose marks are to be changed. Servers are kept from them as long as they are open.
#[derive(Default)]
pub(super) struct Claims(Vec<((u64, u64), Arc<HostFs>)>);

impl Claims {
    /// Opens a directory. One that several paths lead to is opened once: another claim would be in its way.
    pub(super) fn open(&mut self, dir: &Path, state_dir: &Path) -> Result<Arc<HostFs>, Failure> {
        let inode = dir.metadata().map(|found| (found.dev(), found.ino())).ok();
        if let Some((_, host)) = self.0.iter().find(|(known, _)| Some(*known) == inode) {
            return Ok(Arc::clone(host));
        }
        let options =
            HostOptions { state_dir: Some(state_dir.to_owned()), sync_metadata: false, ..HostOptions::default() };
        let host = Arc::new(HostFs::open(dir, options).map_err(|error| logged(dir, error))?);
        let unreadable = |source| WriteLogError::Mark { export: dir.to_owned(), source };
        if !host.claim_log_mark().map_err(unreadable)? {
            return Err(WriteLogError::InUse { export: dir.to_owned() }.into());
        }
        self.0.extend(inode.map(|inode| (inode, Arc::clone(&host))));
        Ok(host)
    }
}

/// The state directory of the server that used a log last, if one of its directories names it.
pub(super) fn server_of<'d>(log: &WriteLog, mut dirs: impl Iterator<Item = &'d PathBuf>) -> Option<PathBuf> {
    dirs.find_map(|dir| log.server_of(dir, &HostFs::open(dir, HostOptions::default()).ok()?))
}

fn logged(dir: &Path, error: impl Into<ExportError>) -> Failure {
    Failure::Logged { dir: dir.to_owned(), source: error.into() }
}
