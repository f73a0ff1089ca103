//! Marks outside of the log: which log an export depends on, and whether it still does.
//!
//! A mark is in the state directory and, where possible, in the export itself. Without it nobody would notice that a
//! log is missing, old or another server's, or that a server was started without its log in between: the next replay
//! would put older data over newer ones.
//!
//! An export is marked before the log takes its first change, and released when the log is empty for good. The export's
//! own mark counts more than the state directory's: another server may have used the export since. Of two marks of
//! one log, the one with the higher generation is newer.

use std::io;
use std::path::Path;

use own_files::OwnDir;
use vfs::{Error, FileSystem};

use crate::error::WriteLogError;
use crate::mark::{Mark, absolute, newer, root};
use crate::state_file::{self, StateFile, StateLine};

impl Mark {
    /// The newest mark of an export.
    pub(crate) fn of(export: &str, fs: &dyn FileSystem, lines: &[StateLine]) -> Result<Option<Mark>, WriteLogError> {
        let unreadable = |source| WriteLogError::Mark { export: export.to_owned(), source };
        let is_here = |mark: &Mark| mark.root == root(fs);
        let own = fs.log_mark().map_err(unreadable)?.and_then(|mark| Mark::read(std::str::from_utf8(&mark).ok()?));
        Ok(newer(own.filter(is_here), Mark::kept(export, lines).filter(is_here)))
    }

    /// The newest mark of an export in the state directory.
    fn kept(export: &str, lines: &[StateLine]) -> Option<Mark> {
        lines.iter().rev().find_map(|line| match line {
            StateLine::Mark { export: of, mark } if of == export => Some(mark.clone()),
            _ => None,
        })
    }

    /// Stores the mark in the state directory and in the export, in which it may be impossible.
    pub(crate) fn store(&self, export: &str, fs: &dyn FileSystem, state_file: &StateFile) -> Result<(), WriteLogError> {
        state_file.keep(&[StateLine::Mark { export: export.to_owned(), mark: self.clone() }])?;
        match fs.set_log_mark(self.text().as_bytes()) {
            Err(source @ Error::Io(_)) => Err(WriteLogError::Mark { export: export.to_owned(), source }),
            Err(error) => {
                tracing::info!(
                    export, %error,
                    "the export cannot be marked as one with a write log: only the state directory knows its log"
                );
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

/// Checks that an export may be served without a write log.
///
/// # Errors
/// [`WriteLogError::NeedsLog`] when acknowledged changes of the export may be in a log alone, or when the mark cannot
/// be read.
pub fn check_unlogged(export: &str, fs: &dyn FileSystem, state_dir: Option<&Path>) -> Result<(), WriteLogError> {
    let lines = lines_in(state_dir)?;
    match Mark::of(export, fs, &lines)? {
        Some(mark) if mark.is_needed => Err(WriteLogError::NeedsLog { export: export.to_owned(), path: mark.path }),
        _ => Ok(()),
    }
}

/// The exports of which acknowledged changes may be in the log at this path alone, as the state directory has it.
///
/// # Errors
/// When the state directory cannot be read.
pub fn exports_of_log(path: &Path, state_dir: &Path) -> Result<Vec<String>, WriteLogError> {
    let path = absolute(path);
    let mut exports: Vec<(String, bool)> = Vec::new();
    for line in lines_in(Some(state_dir))? {
        if let StateLine::Mark { export, mark } = line {
            exports.retain(|(name, _)| *name != export);
            exports.push((export, mark.is_needed && mark.path == path));
        }
    }
    Ok(exports.into_iter().filter(|(_, is_needed)| *is_needed).map(|(name, _)| name).collect())
}

/// Gives up what a log may have of an export, so that the export can be served without it; `fs` is missing if its
/// directory is gone. Returns whether the export had depended on a log.
///
/// # Errors
/// When the marks cannot be read or changed.
pub fn give_up_log(export: &str, fs: Option<&dyn FileSystem>, state_dir: &Path) -> Result<bool, WriteLogError> {
    let unreadable = |source| WriteLogError::State { path: state_dir.to_owned(), source };
    let (state_file, lines) = StateFile::open(state_dir).map_err(unreadable)?;
    let mark = match fs {
        Some(fs) => Mark::of(export, fs, &lines)?,
        None => Mark::kept(export, &lines),
    };
    let Some(mark) = mark.filter(|mark| mark.is_needed) else { return Ok(false) };
    // A later generation, so that this mark is newer than the one that it replaces.
    let mark = Mark { is_needed: false, generation: mark.generation + 1, ..mark };
    match fs {
        Some(fs) => mark.store(export, fs, &state_file)?,
        None => state_file.keep(&[StateLine::Mark { export: export.to_owned(), mark }])?,
    }
    Ok(true)
}

fn lines_in(state_dir: Option<&Path>) -> Result<Vec<StateLine>, WriteLogError> {
    let Some(dir) = state_dir else { return Ok(Vec::new()) };
    match OwnDir::open(dir).and_then(|dir| state_file::read(&dir)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|source| WriteLogError::State { path: dir.to_owned(), source }),
    }
}
