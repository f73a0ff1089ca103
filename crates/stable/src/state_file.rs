//! State of a log that must survive the loss of its device: handles of recreated files, whether the log was retired
//! because its device failed, exports whose storage failed too, how many replays there were, and which exports depend
//! on the log.
//!
//! A text file of lines in the state directory, appended and synced. Changes are rare. Beside it, a file has the newest
//! generation of each log that is needed, which changes with each trim, and how far the log reached a moment ago.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use own_files::{FileKind, Flaw, OwnDir};

use crate::error::WriteLogError;
use crate::state_line::{self, StateLine};

/// The file in the state directory.
const NAME: &str = "write-log";

const KIND: FileKind = FileKind {
    name: NAME,
    loss: "only exports with extended attributes say now which write log they depend on, and file handles of files that a \
           replay recreated are stale",
    otherwise: "serve all exports with the write log that they had, and mount again on clients with stale handles",
};

const KIND_WITHOUT_LOG: FileKind = FileKind {
    name: NAME,
    loss: "the write log is missing too, and nobody knows whether it has acknowledged changes of an export",
    otherwise: "remove write-log-generation if no export needs a write log",
};

/// The file of the generations in the state directory.
const GENERATION_NAME: &str = "write-log-generation";

/// The fixed length of its lines, which lie in one sector each, so that they are written as a whole.
const GENERATION_BYTES: usize = 64;

/// The maximum number of its lines.
const MAX_GENERATIONS: usize = 1024;

/// The file of changes that could not be replayed.
pub(crate) const SET_ASIDE: &str = "write-log-set-aside";

/// What the state directory has of a log's generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptGeneration {
    /// The newest one.
    Known(LogReach),
    /// The file has none of this log, or a damaged one.
    Unknown,
    /// There is no file.
    FileMissing,
}

/// How far a log has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogReach {
    /// The number of the header.
    pub(crate) generation: u64,
    /// Where durable records end, at least.
    pub(crate) end: u64,
}

/// The files, which are made when something is kept: a start that is refused leaves nothing.
#[derive(Debug)]
pub(crate) struct StateFile {
    dir: PathBuf,
    files: Mutex<Option<Files>>,
}

#[derive(Debug)]
struct Files {
    dir: OwnDir,
    lines: File,
    generation: File,
}

impl StateFile {
    /// Reads the lines of the file in `dir`. Ignores a line that a crash has torn.
    pub(crate) fn open(dir: &Path) -> Result<(StateFile, Vec<StateLine>), WriteLogError> {
        let existing = existing(dir).map_err(|source| WriteLogError::State { path: dir.to_owned(), source })?;
        let lines = existing.map_or_else(|| Ok(Vec::new()), |dir| read(&dir))?;
        Ok((StateFile { dir: dir.to_owned(), files: Mutex::default() }, lines))
    }

    /// The newest generation of the log with this id.
    pub(crate) fn generation(&self, log: &str) -> io::Result<KeptGeneration> {
        let Some(dir) = existing(&self.dir)? else { return Ok(KeptGeneration::FileMissing) };
        let Some(file) = read_generations(&dir)? else { return Ok(KeptGeneration::FileMissing) };
        let own = generations(&file).flatten().find(|(id, _)| *id == log);
        Ok(own.map_or(KeptGeneration::Unknown, |(_, reach)| KeptGeneration::Known(reach)))
    }

    /// Where the generations are.
    pub(crate) fn generation_path(&self) -> PathBuf {
        self.dir.join(GENERATION_NAME)
    }

    /// Uses the files, which are made if they are missing.
    fn with_files<T>(&self, name: &str, act: impl FnOnce(&mut Files) -> io::Result<T>) -> Result<T, WriteLogError> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match files.take() {
            Some(opened) => Ok(opened),
            None => Files::open(&self.dir),
        };
        let acted = opened.and_then(|opened| act(files.insert(opened)));
        acted.map_err(|source| WriteLogError::State { path: self.dir.join(name), source })
    }

    /// Keeps how far the log with this id has come, so that an older copy of the log is refused. It may take the place
    /// of that of a log that is not `needed`.
    pub(crate) fn keep_generation(
        &self,
        log: &str,
        LogReach { generation, end }: LogReach,
        needed: impl Fn(&str) -> bool,
    ) -> Result<(), WriteLogError> {
        let line = format!("{:<width$}\n", format!("{log} {generation} {end:x} ."), width = GENERATION_BYTES - 1);
        self.with_files(GENERATION_NAME, |files| {
            let file = read_generations(&files.dir)?.unwrap_or_default();
            let own = generations(&file).position(|line| line.is_some_and(|(id, _)| id == log));
            let free = || generations(&file).position(|line| !line.is_some_and(|(id, _)| needed(id)));
            let at = own.or_else(free).unwrap_or(file.len().div_ceil(GENERATION_BYTES));
            files.generation.write_all_at(line.as_bytes(), (at * GENERATION_BYTES) as u64)?;
            files.generation.sync_data()
        })
    }

    /// Appends lines, which are on stable storage when this returns.
    pub(crate) fn keep(&self, lines: &[StateLine]) -> Result<(), WriteLogError> {
        let text: String = lines.iter().map(|line| line.text() + "\n").collect();
        self.with_files(NAME, |files| {
            let kept = files.lines.write_all(text.as_bytes()).and_then(|()| files.lines.sync_data());
            if kept.is_err() {
                // A part of a line may be there: what follows must not become a part of it.
                let _ = files.lines.write_all(b"\n");
            }
            kept
        })
    }

    /// Where changes are that cannot be replayed.
    pub(crate) fn set_aside_path(&self) -> PathBuf {
        self.dir.join(SET_ASIDE)
    }

    /// Appends a change that cannot be replayed to the file of these, and returns the file's path.
    pub(crate) fn set_aside(&self, text: &str) -> Result<PathBuf, WriteLogError> {
        self.with_files(SET_ASIDE, |files| {
            let mut file = files.dir.file(SET_ASIDE)?;
            file.seek(SeekFrom::End(0))?;
            file.write_all(text.as_bytes())
        })?;
        Ok(self.set_aside_path())
    }

    /// Flushes the changes that were set aside.
    pub(crate) fn sync_set_aside(&self) -> Result<(), WriteLogError> {
        self.with_files(SET_ASIDE, |files| {
            files.dir.file(SET_ASIDE)?.sync_all()?;
            files.dir.sync()
        })
    }
}

impl Files {
    fn open(dir: &Path) -> io::Result<Files> {
        let dir = OwnDir::create(dir)?;
        let mut lines = match dir.file_to_write(NAME)? {
            Some(lines) => lines,
            // It is never empty on stable storage: beside generations, an empty one is lost.
            None => dir.replace(NAME, b"\n")?,
        };
        let generation = dir.file(GENERATION_NAME)?;
        // New lines go behind those that are there, of which a crash may have torn the last one.
        let mut last = [b'\n'];
        let length = lines.seek(SeekFrom::End(0))?;
        if length > 0 {
            lines.read_exact_at(&mut last, length - 1)?;
        }
        if last != *b"\n" {
            lines.write_all(b"\n")?;
        }
        dir.sync()?;
        Ok(Files { dir, lines, generation })
    }
}

fn read_generations(dir: &OwnDir) -> io::Result<Option<Vec<u8>>> {
    dir.read(GENERATION_NAME, (MAX_GENERATIONS * GENERATION_BYTES) as u64)
}

/// The lines of the file: a log and how far it has come, or `None` for one that is damaged. Lines of earlier versions
/// have no end.
fn generations(file: &[u8]) -> impl Iterator<Item = Option<(&str, LogReach)>> {
    file.chunks(GENERATION_BYTES).map(|line| {
        let text = std::str::from_utf8(line).ok()?;
        let (id, generation, end) = match *text.split_whitespace().collect::<Vec<_>>() {
            [id, generation, end, "."] => (id, generation, u64::from_str_radix(end, 16).ok()?),
            [id, generation, "."] => (id, generation, 0),
            _ => return None,
        };
        Some((id, LogReach { generation: generation.parse().ok()?, end }))
    })
}

/// Opens a directory; `None` if it is missing.
pub(crate) fn existing(dir: &Path) -> io::Result<Option<OwnDir>> {
    match OwnDir::open(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// Reads the lines of the file in `dir`.
pub(crate) fn read(dir: &OwnDir) -> Result<Vec<StateLine>, WriteLogError> {
    let unreadable = |source| WriteLogError::State { path: dir.path().join(NAME), source };
    let Some(mut file) = dir.file_to_read(NAME).map_err(unreadable)? else { return Ok(Vec::new()) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    state_line::read_all(&bytes)
        .map_err(|number| KIND.refused(dir.path(), format!("is damaged in line {number}")).into())
}

/// The file of lines in `dir`, if it is lost: that of the generations, which is made with it, is there.
///
/// # Errors
/// When the directory cannot be read.
pub fn missing_state(dir: &Path) -> Result<Option<Flaw>, WriteLogError> {
    Ok(lost(dir)?.map(|wrong| KIND.lost(dir, wrong)))
}

/// Refuses to make a log if nobody knows whether exports need the one that is missing.
///
/// # Errors
/// When the file of lines in `dir` is lost, or the directory cannot be read.
pub fn check_may_make_log(dir: &Path) -> Result<(), WriteLogError> {
    lost(dir)?.map_or(Ok(()), |wrong| Err(KIND_WITHOUT_LOG.lost(dir, wrong).into()))
}

/// What is wrong with the file of lines, if it is lost.
fn lost(dir: &Path) -> Result<Option<&'static str>, WriteLogError> {
    let failed = |path: PathBuf| |source| WriteLogError::State { path, source };
    let Some(own) = existing(dir).map_err(failed(dir.to_owned()))? else { return Ok(None) };
    let generations = read_generations(&own).map_err(failed(dir.join(GENERATION_NAME)))?;
    let Some(generations) = generations else { return Ok(None) };
    let lines = own.file_to_read(NAME).and_then(|lines| lines.map(|lines| lines.metadata()).transpose());
    Ok(match lines.map_err(failed(dir.join(NAME)))? {
        None => Some("is missing"),
        Some(lines) if lines.len() == 0 && !generations.is_empty() => Some("is empty"),
        Some(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_needed_log_has_its_generation_and_others_make_room() {
        let dir = std::env::temp_dir().join(format!("wharf-generations-{}", std::process::id()));
        let (file, _) = StateFile::open(&dir).unwrap();
        assert_eq!(file.generation("a").unwrap(), KeptGeneration::FileMissing);
        let reach = |generation| LogReach { generation, end: u64::MAX >> 16 };
        for (log, generation) in [("a", 7), ("b", 9), ("a", 8)] {
            file.keep_generation(log, reach(generation), |_| true).unwrap();
        }
        let of = |log| file.generation(log).unwrap();
        let known = |generation| KeptGeneration::Known(reach(generation));
        assert_eq!([of("a"), of("b")], [known(8), known(9)]);
        file.keep_generation("c", reach(1), |id| id == "b").unwrap();
        let expected = [KeptGeneration::Unknown, known(9), known(1)];
        assert_eq!([of("a"), of("b"), of("c")], expected);
        fs::write(file.generation_path(), [7; 100]).unwrap();
        assert_eq!(of("b"), KeptGeneration::Unknown);
        file.keep_generation("b", reach(10), |_| true).unwrap();
        assert_eq!(of("b"), known(10));
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn line_is_kept_behind_one_that_is_torn() {
        let dir = std::env::temp_dir().join(format!("wharf-stable-{}", std::process::id()));
        let (file, _) = StateFile::open(&dir).unwrap();
        let lines = [1, 2].map(|memory| StateLine::Failed { memory });
        file.keep(&lines).unwrap();
        let path = dir.join(NAME);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 2]).unwrap();
        let (file, read) = StateFile::open(&dir).unwrap();
        assert_eq!(read, lines[..1]);
        file.keep(&lines[1..]).unwrap();
        assert_eq!(StateFile::open(&dir).unwrap().1, lines);
        assert_eq!(missing_state(&dir).unwrap(), None);
        file.keep_generation("a", LogReach { generation: 1, end: 0 }, |_| true).unwrap();
        assert_eq!(missing_state(&dir).unwrap(), None);
        fs::write(&path, "").unwrap();
        assert!(missing_state(&dir).unwrap().unwrap().to_string().contains("write-log is empty: "));
        fs::remove_file(path).unwrap();
        assert!(check_may_make_log(&dir).unwrap_err().to_string().contains("the write log is missing too"));
        let said = missing_state(&dir).unwrap().unwrap().to_string();
        assert!(said.contains("write-log is missing: ") && said.contains("put the file back"), "{said}");
        fs::remove_dir_all(&dir).unwrap();
        assert_eq!(missing_state(&dir).unwrap(), None, "a first start");
    }
}
