//! Marks outside of the log: which log an export depends on, and whether it still does.
//!
//! A mark is in the state directory and, where possible, in the export itself. Without it nobody would notice that a
//! log is missing, old or another server's, or that a server was started without its log in between: the next replay
//! would put older data over newer ones.
//!
//! An export is marked before the log takes its first change, and released when the log is empty for good. Of two
//! marks of one log, the one with the higher generation is newer. Marks of two logs must both allow a start. A mark
//! that a user may have written counts only where the state directory has none, and then it can only refuse a start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use vfs::{Error, FileSystem, LogMark, StoredMark, quoted};

use crate::error::WriteLogError;
use crate::log_site::LogSite;
use crate::mark::{Mark, absolute, is_one, newer, root};
use crate::state_file::StateFile;
use crate::state_line::StateLine;

/// What is known of the log of an export, or of a directory that overlaps with it.
pub(crate) struct Known {
    pub(crate) export: PathBuf,
    pub(crate) mark: Mark,
    pub(crate) is_own: bool,
    /// Whether the mark cannot be forged, so that a start may depend on it; otherwise it can only refuse one.
    pub(crate) is_safe: bool,
    /// The attribute, if nothing else says so.
    attribute: Option<&'static str>,
    /// The state directory of the log's server, if the directory itself names it, and nobody else can have written it.
    pub(crate) server: Option<PathBuf>,
    /// Whether it is the mark of another directory, which was exported at this path before.
    is_replaced: bool,
}

impl Known {
    /// The marks of an export, of the directories above it, and of those that the state directory knows and that
    /// overlap with it.
    pub(crate) fn of(export: &Path, fs: &dyn FileSystem, lines: &[StateLine]) -> Result<Vec<Known>, WriteLogError> {
        let unreadable = |source| WriteLogError::Mark { export: export.to_owned(), source };
        let mut names: Vec<&PathBuf> = marks(lines).map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        let dirs = fs.log_marks(&names.into_iter().cloned().collect::<Vec<_>>()).map_err(unreadable)?;
        let mut known: Vec<Known> = dirs.iter().flat_map(|dir| Known::of_dir(export, dir, lines)).collect();
        let here = Mark::kept(export, lines).filter(|mark| dirs.is_empty() && mark.root == root(fs));
        known.extend(here.map(|mark| Known::new(export, mark)));
        let replaced = Mark::of_replaced(export, fs, lines);
        known.extend(replaced.map(|mark| Known { is_own: false, is_replaced: true, ..Known::new(export, mark) }));
        Ok(known)
    }

    fn new(export: &Path, mark: Mark) -> Known {
        let export = export.to_owned();
        Known { export, mark, is_own: true, is_safe: true, attribute: None, server: None, is_replaced: false }
    }

    /// The marks of one directory. Of two logs, both may have its changes.
    fn of_dir(export: &Path, dir: &LogMark, lines: &[StateLine]) -> Vec<Known> {
        let root = (dir.origin.fileid, dir.origin.birth);
        let is_here = |mark: &Mark| mark.root == root;
        let read = |stored: &StoredMark| Mark::read(std::str::from_utf8(&stored.text).ok()?).filter(is_here);
        let stored = dir.stored.as_ref().and_then(|stored| Some((read(stored)?, stored)));
        let kept = marks(lines).rev().map(|(_, mark)| mark).find(|mark| is_here(mark)).cloned();
        let name = if dir.is_own { export } else { &dir.dir };
        let known = |mark| Known { is_own: dir.is_own, ..Known::new(name, mark) };
        match (stored, kept) {
            (Some((own, StoredMark { is_safe: true, .. })), Some(kept)) if own.log == kept.log => {
                let newest = newer(own.clone(), kept.clone());
                // Another server marked the directory later.
                let server = if newest == kept { None } else { own.state_dir };
                vec![Known { server, ..known(newest) }]
            }
            (Some((own, StoredMark { is_safe: true, .. })), Some(kept)) => {
                vec![Known { server: own.state_dir.clone(), ..known(own) }, known(kept)]
            }
            (Some((own, StoredMark { is_safe, attribute, .. })), None) if *is_safe || dir.is_own => {
                let server = own.state_dir.clone().filter(|_| *is_safe);
                vec![Known { is_safe: *is_safe, attribute: Some(attribute), server, ..known(own) }]
            }
            (_, kept) => kept.into_iter().map(known).collect(),
        }
    }

    /// The log that has the changes, and the state directory of its server: this one, if nothing says which it is.
    pub(crate) fn site(&self, state_dir: Option<&Path>) -> LogSite {
        LogSite::new(&self.mark.path, self.server.as_deref().or(state_dir))
    }

    /// Who says so, if it is only the directory itself, and the remedy if somebody else may have written that.
    pub(crate) fn told_by(&self) -> String {
        if self.is_replaced {
            return " (those of another directory that was exported at this path; is a file system not mounted?)"
                .into();
        }
        let Some(name) = self.attribute else { return String::new() };
        let forged = format!(
            ", and others than the server may have written it: if no log is known to be missing, remove it with \
             `setfattr -x {name} {}`",
            quoted(&self.export)
        );
        format!(" (only its extended attribute {name} says so{})", if self.is_safe { "" } else { &forged })
    }
}

fn marks(lines: &[StateLine]) -> impl DoubleEndedIterator<Item = (&PathBuf, &Mark)> {
    lines.iter().filter_map(|line| match line {
        StateLine::Mark { export, mark } => Some((export, mark)),
        _ => None,
    })
}

/// The exports that depend on a log, as the state directory has it.
pub(crate) fn needed(lines: &[StateLine]) -> BTreeMap<&PathBuf, &Mark> {
    // The last line of an export counts, and of a directory that was exported by several paths.
    let mut last: BTreeMap<_, _> = marks(lines).collect();
    let newest = |root| marks(lines).rfind(|(_, mark)| is_one(mark.root, root)).map(|(name, _)| name);
    last.retain(|name, mark| mark.is_needed && newest(mark.root).is_none_or(|newest| newest == *name));
    last
}

impl Mark {
    /// The newest mark of an export in the state directory.
    fn kept(export: &Path, lines: &[StateLine]) -> Option<Mark> {
        marks(lines).rev().find(|(of, _)| *of == export).map(|(_, mark)| mark.clone())
    }

    /// The mark of another directory that was exported at this path, as long as it depends on its log.
    fn of_replaced(export: &Path, fs: &dyn FileSystem, lines: &[StateLine]) -> Option<Mark> {
        let mark = Mark::kept(export, lines).filter(|mark| mark.root != root(fs))?;
        // It may have been exported at its new path since.
        let last = marks(lines).map(|(_, of)| of).rfind(|of| of.root == mark.root)?;
        last.is_needed.then_some(mark)
    }

    /// Stores the mark in the state directory and in the export, in which it may be impossible.
    pub(crate) fn store(
        &self,
        export: &Path,
        fs: &dyn FileSystem,
        state_file: &StateFile,
    ) -> Result<(), WriteLogError> {
        state_file.keep(&[StateLine::Mark { export: export.to_owned(), mark: self.clone() }])?;
        match fs.set_log_mark(self.text().as_bytes()) {
            Err(source @ Error::Io(_)) => Err(WriteLogError::Mark { export: export.to_owned(), source }),
            Err(error) => {
                tracing::info!(
                    export = %quoted(export), %error,
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
pub fn check_unlogged(export: &Path, fs: &dyn FileSystem, state_dir: Option<&Path>) -> Result<(), WriteLogError> {
    let lines = lines_in(state_dir)?;
    match Known::of(export, fs, &lines)?.into_iter().find(|known| known.mark.is_needed) {
        Some(known) => {
            Err(WriteLogError::NeedsLog { told_by: known.told_by(), site: known.site(state_dir), export: known.export })
        }
        None => Ok(()),
    }
}

/// The exports of which acknowledged changes may be in the log at this path alone, as the state directory has it.
///
/// # Errors
/// When the state directory cannot be read.
pub fn exports_of_log(path: &Path, state_dir: &Path) -> Result<Vec<PathBuf>, WriteLogError> {
    let (path, lines) = (absolute(path), lines_in(Some(state_dir))?);
    let of_log = needed(&lines).into_iter().filter(|(_, mark)| mark.path == path);
    Ok(of_log.map(|(export, _)| export.clone()).collect())
}

/// Exports that are not served, and of which acknowledged changes may be in a log alone that is not in use either, as
/// the state directory has it: for each, what a start with it but without its log would be refused with.
///
/// # Errors
/// When the state directory cannot be read.
pub fn left_behind(
    served: &[&Path],
    log: Option<&Path>,
    state_dir: Option<&Path>,
) -> Result<Vec<WriteLogError>, WriteLogError> {
    let (log, lines) = (log.map(absolute), lines_in(state_dir)?);
    let is_left =
        |(export, mark): &(&PathBuf, &Mark)| !served.contains(&export.as_path()) && log.as_ref() != Some(&mark.path);
    let error = |(export, mark): (&PathBuf, &Mark)| WriteLogError::NeedsLog {
        export: export.clone(),
        site: LogSite::new(&mark.path, state_dir),
        told_by: String::new(),
    };
    Ok(needed(&lines).into_iter().filter(is_left).map(error).collect())
}

/// Gives up what a log may have of an export, so that the export can be served without it; `fs` is missing if its
/// directory is gone. Returns whether the export had depended on a log. No server may use the export meanwhile.
///
/// # Errors
/// When the marks cannot be read or changed.
pub fn give_up_log(export: &Path, fs: Option<&dyn FileSystem>, state_dir: &Path) -> Result<bool, WriteLogError> {
    let (state_file, lines) = StateFile::open(state_dir)?;
    // A later generation, so that this mark is newer than the one that it replaces.
    let released = |mark: Mark| Mark { is_needed: false, generation: mark.generation + 1, ..mark };
    let (own, gone) = match fs {
        Some(fs) => {
            let own = Known::of(export, fs, &lines)?.into_iter().filter(|known| known.is_own);
            (own.map(|known| known.mark).find(|mark| mark.is_needed), Mark::of_replaced(export, fs, &lines))
        }
        None => (None, Mark::kept(export, &lines).filter(|mark| mark.is_needed)),
    };
    let has_depended = own.is_some() || gone.is_some();
    if let Some(mark) = gone {
        state_file.keep(&[StateLine::Mark { export: export.to_owned(), mark: released(mark) }])?;
    }
    if let (Some(mark), Some(fs)) = (own, fs) {
        released(mark).store(export, fs, &state_file)?;
    }
    Ok(has_depended)
}

fn lines_in(state_dir: Option<&Path>) -> Result<Vec<StateLine>, WriteLogError> {
    state_dir.map_or_else(|| Ok(Vec::new()), |dir| Ok(StateFile::open(dir)?.1))
}
