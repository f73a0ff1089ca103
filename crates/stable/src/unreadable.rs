//! A log that cannot be opened any more: damaged, truncated or overwritten. Its changes can only be given up.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dependence::exports_of_log;
use crate::device::FileDevice;
use crate::error::WriteLogError;
use crate::log::{Check, Log, LogError};
use crate::log_site::LogSite;
use crate::owner::LogOwner;
use crate::state_file::{KeptGeneration, StateFile};
use crate::state_line::{StateLine, server_id};

/// What is known of such a log.
#[derive(Debug)]
pub struct UnreadableLog {
    device: Arc<FileDevice>,
    /// What is wrong with it, as in "is damaged".
    pub flaw: &'static str,
    /// The exports in its header; `None` if no header can be read.
    pub exports: Option<Vec<PathBuf>>,
    /// Whether the state directory is that of a server with this log, if its header says which one it is.
    pub is_known: bool,
    /// What can be read of it, if it is only damaged.
    pub check: Option<Check>,
}

impl UnreadableLog {
    /// Looks at a log that cannot be opened or read because of this error; `None` if it is not about what is in the
    /// device.
    ///
    /// # Errors
    /// When the log is not a server's, or the state directory cannot be read.
    pub fn of(
        device: Arc<FileDevice>,
        state_dir: &Path,
        error: &WriteLogError,
    ) -> Result<Option<UnreadableLog>, WriteLogError> {
        let Some(flaw) = flaw(error) else { return Ok(None) };
        let unreadable = |source| WriteLogError::State { path: state_dir.to_owned(), source };
        let (state_file, lines) = StateFile::open(state_dir)?;
        let (mut exports, mut is_of_state_dir) = (None, false);
        if let Some((id, owner)) = Log::identity(&*device) {
            let owner = LogOwner::read(&owner).ok_or(WriteLogError::NotAWriteLog)?;
            is_of_state_dir = is_known((&id, &owner), &state_file, &lines).map_err(unreadable)?;
            exports = Some(owner.exports.into_iter().map(|owned| owned.name).collect());
        }
        let check = Log::check(Arc::clone(&device) as _).ok();
        Ok(Some(UnreadableLog { device, flaw, exports, is_known: is_of_state_dir, check }))
    }

    /// Renames the log, so that a server can make a new one in its place. Returns its new name; `None` for a block
    /// device, which stays as it is.
    ///
    /// # Errors
    /// When it cannot be renamed.
    pub fn put_aside(&self) -> Result<Option<PathBuf>, LogError> {
        self.device.put_aside()
    }
}

/// What is wrong with the contents of a log.
fn flaw(error: &WriteLogError) -> Option<&'static str> {
    let error = match error {
        WriteLogError::Damaged { .. } => return Some("is damaged"),
        WriteLogError::Record { .. } => return Some("has records that this program cannot read"),
        WriteLogError::Unreadable { source, .. } | WriteLogError::Log(source) => source,
        _ => return None,
    };
    match error {
        LogError::Blank { .. } => Some("has zeros where a log begins"),
        LogError::NotALog { .. } => Some("does not begin as a log does"),
        LogError::Version { .. } => Some("has a format that this program does not know"),
        LogError::Size { .. } => Some("does not have its whole size"),
        _ => None,
    }
}

/// Whether a state directory is that of the server that used the log of this id last.
pub(crate) fn is_known(
    (id, owner): (&str, &LogOwner),
    state_file: &StateFile,
    lines: &[StateLine],
) -> io::Result<bool> {
    if let (Some(own), Some(last)) = (server_id(lines), &owner.server) {
        return Ok(own == last);
    }
    let is_of_this = |line: &StateLine| matches!(line, StateLine::Mark { mark, .. } if mark.log == id);
    // A log that may be lost has no marks.
    Ok(lines.iter().any(is_of_this) || matches!(state_file.generation(id)?, KeptGeneration::Known(_)))
}

/// Adds the remedy of damage, which needs the state directory.
pub(crate) fn open_error(error: LogError, state_dir: &Path) -> WriteLogError {
    match error {
        LogError::Damaged { ref path, .. } => {
            let site = LogSite::new(path, Some(state_dir));
            WriteLogError::Damaged { source: error, site }
        }
        LogError::Blank { ref path }
        | LogError::NotALog { ref path }
        | LogError::Version { ref path, .. }
        | LogError::Size { ref path, .. } => {
            let site = LogSite::new(path, Some(state_dir));
            match exports_of_log(path, state_dir) {
                Ok(exports) if !exports.is_empty() => WriteLogError::Unreadable { source: error, exports, site },
                _ => error.into(),
            }
        }
        error => error.into(),
    }
}
