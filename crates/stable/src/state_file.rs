//! State of a log that must survive the loss of its device: handles of recreated files, whether the log was retired
//! because its device failed, exports whose storage failed too, and how many replays there were.
//!
//! A text file of lines in the state directory, appended and synced. Changes are rare.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use own_files::OwnDir;
use vfs::Handle;

use crate::error::WriteLogError;

/// The file in the state directory.
const NAME: &str = "write-log";

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StateLine {
    /// In this export, clients know a file by the first handle, and the file system by the second.
    Alias { export: String, outer: Handle, inner: Handle },
    /// All changes of the log with this id are in storage: it must not be replayed.
    Retired { log: String },
    /// The storage of this export has lost changes of the log with this id: it must be replayed.
    Lost { log: String, export: String },
    /// Changes of this export were replayed. There is a line for each time.
    Replayed { export: String },
}

#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    file: Mutex<File>,
}

impl StateFile {
    /// Opens the file in `dir`, and reads its lines. Ignores a line that a crash has torn.
    pub(crate) fn open(dir: &Path) -> io::Result<(StateFile, Vec<StateLine>)> {
        let dir = OwnDir::create(dir)?;
        let path = dir.path().join(NAME);
        let mut file = dir.file(NAME)?;
        // New lines go behind what was read.
        let text = io::read_to_string(&file)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        dir.sync()?;
        let lines = text.lines().filter_map(StateLine::read).collect();
        Ok((StateFile { path, file: Mutex::new(file) }, lines))
    }

    /// Appends lines, which are on stable storage when this returns.
    pub(crate) fn keep(&self, lines: &[StateLine]) -> Result<(), WriteLogError> {
        let text: String = lines.iter().map(|line| line.text() + "\n").collect();
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        kept.map_err(|source| {
            // A part of a line may be there: what follows must not become a part of it.
            let _ = file.write_all(b"\n");
            WriteLogError::State { path: self.path.clone(), source }
        })
    }
}

impl StateLine {
    fn text(&self) -> String {
        let text = match self {
            StateLine::Alias { export, outer, inner } => {
                format!("alias {} {} {}", hex(export.as_bytes()), hex(outer.as_bytes()), hex(inner.as_bytes()))
            }
            StateLine::Retired { log } => format!("retired {log}"),
            StateLine::Replayed { export } => format!("replayed {}", hex(export.as_bytes())),
            StateLine::Lost { log, export } => format!("lost {log} {}", hex(export.as_bytes())),
        };
        // The end distinguishes a whole line from a torn one.
        text + " ."
    }

    fn read(text: &str) -> Option<StateLine> {
        match *text.split(' ').collect::<Vec<_>>() {
            ["alias", export, outer, inner, "."] => Some(StateLine::Alias {
                export: String::from_utf8(bytes(export)?).ok()?,
                outer: Handle::new(&bytes(outer)?)?,
                inner: Handle::new(&bytes(inner)?)?,
            }),
            ["retired", log, "."] => Some(StateLine::Retired { log: log.to_owned() }),
            ["lost", log, export, "."] => {
                Some(StateLine::Lost { log: log.to_owned(), export: String::from_utf8(bytes(export)?).ok()? })
            }
            ["replayed", export, "."] => Some(StateLine::Replayed { export: String::from_utf8(bytes(export)?).ok()? }),
            _ => None,
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_read_again_and_a_torn_one_is_not() {
        let dir = std::env::temp_dir().join(format!("wharf-stable-{}", std::process::id()));
        let (file, _) = StateFile::open(&dir).unwrap();
        let (outer, inner) = (Handle::from_u64(1), Handle::from_u64(2));
        let lines = [
            StateLine::Alias { export: "/a b".to_owned(), outer, inner },
            StateLine::Lost { log: "0a1b".to_owned(), export: "/a b".to_owned() },
            StateLine::Replayed { export: "/a b".to_owned() },
            StateLine::Retired { log: "0a1b".to_owned() },
        ];
        file.keep(&lines).unwrap();
        let path = file.path.clone();
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 2]).unwrap();
        let (file, read) = StateFile::open(&dir).unwrap();
        assert_eq!(read, lines[..3]);
        file.keep(&lines[3..]).unwrap();
        assert_eq!(StateFile::open(&dir).unwrap().1, lines);
        fs::remove_dir_all(dir).unwrap();
    }
}
