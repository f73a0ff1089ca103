//! The lines of the state file.
//!
//! ```text
//! WORD FIELD… CHECKSUM .
//! ```
//!
//! The checksum is the XXH3 of what stands before it, and the end distinguishes a whole line from a torn one.

use std::path::PathBuf;

use twox_hash::XxHash3_64;
use vfs::Handle;

use crate::hex::{self, bytes, hex, hex_path};
use crate::mark::Mark;

/// The end of a line.
const END: &str = " .";

/// How lines begin.
const WORDS: [&str; 8] = ["alias ", "retired ", "lost ", "failed ", "replayed ", "began ", "mark ", "server "];

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StateLine {
    /// In this export, clients know a file by the first handle, and the file system by the second.
    Alias { export: PathBuf, outer: Handle, inner: Handle },
    /// All changes of the log with this id are in storage: it must not be replayed.
    Retired { log: String },
    /// The storage of this export has lost changes of the log with this id: it must be replayed.
    Lost { log: String, export: PathBuf },
    /// Storage has failed while this memory had changes of its files ([`FileSystem::memory`](vfs::FileSystem::memory)).
    Failed { memory: u64 },
    /// Changes of this export were replayed. There is a line for each time.
    Replayed { export: PathBuf },
    /// A replay of the log with this id began, whose records were those from this position on.
    Began { log: String, tail: u64 },
    /// The log that this export depends on or depended on. The last line of an export counts.
    Mark { export: PathBuf, mark: Mark },
    /// The id of this state directory, by which a log has the server that used it last.
    Server { id: String },
}

/// Reads the lines of a file but those that a crash has torn, which nobody was told are kept.
///
/// # Errors
/// The number of the first line that is damaged.
pub(crate) fn read_all(file: &[u8]) -> Result<Vec<StateLine>, usize> {
    let mut lines = Vec::new();
    for (index, line) in file.split(|&byte| byte == b'\n').enumerate() {
        match std::str::from_utf8(line).ok().and_then(StateLine::read) {
            Some(line) => lines.push(line),
            None if is_torn(line) => {}
            None => return Err(index + 1),
        }
    }
    Ok(lines)
}

/// The id of the state directory, if it has one.
pub(crate) fn server_id(lines: &[StateLine]) -> Option<&str> {
    lines.iter().find_map(|line| match line {
        StateLine::Server { id } => Some(id.as_str()),
        _ => None,
    })
}

/// Whether a crash leaves this of a line: its start, or zeros instead of some sectors.
fn is_torn(line: &[u8]) -> bool {
    let is_of_line = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b' ' | b'.' | 0);
    let is_start_of = |word: &str| word.as_bytes().starts_with(line) || line.starts_with(word.as_bytes());
    let is_start = !line.ends_with(END.as_bytes()) && WORDS.into_iter().any(is_start_of);
    line.iter().all(is_of_line) && (is_start || line.contains(&0))
}

impl StateLine {
    pub(crate) fn text(&self) -> String {
        let text = match self {
            StateLine::Alias { export, outer, inner } => {
                format!("alias {} {} {}", hex_path(export), hex(outer.as_bytes()), hex(inner.as_bytes()))
            }
            StateLine::Retired { log } => format!("retired {log}"),
            StateLine::Replayed { export } => format!("replayed {}", hex_path(export)),
            StateLine::Began { log, tail } => format!("began {log} {tail}"),
            StateLine::Failed { memory } => format!("failed {memory}"),
            StateLine::Lost { log, export } => format!("lost {log} {}", hex_path(export)),
            StateLine::Server { id } => format!("server {id}"),
            StateLine::Mark { export, mark } => format!("mark {} {}", hex_path(export), mark.text()),
        };
        format!("{text} {:016x}{END}", XxHash3_64::oneshot(text.as_bytes()))
    }

    /// Reads what [`StateLine::text`] wrote.
    fn read(line: &str) -> Option<StateLine> {
        let (text, sum) = line.strip_suffix(END)?.rsplit_once(' ')?;
        (sum == format!("{:016x}", XxHash3_64::oneshot(text.as_bytes()))).then_some(())?;
        match *text.split(' ').collect::<Vec<_>>() {
            ["alias", export, outer, inner] => Some(StateLine::Alias {
                export: hex::path(export)?,
                outer: Handle::new(&bytes(outer)?)?,
                inner: Handle::new(&bytes(inner)?)?,
            }),
            ["retired", log] => Some(StateLine::Retired { log: log.to_owned() }),
            ["lost", log, export] => Some(StateLine::Lost { log: log.to_owned(), export: hex::path(export)? }),
            ["began", log, tail] => Some(StateLine::Began { log: log.to_owned(), tail: tail.parse().ok()? }),
            ["failed", memory] => Some(StateLine::Failed { memory: memory.parse().ok()? }),
            ["replayed", export] => Some(StateLine::Replayed { export: hex::path(export)? }),
            ["server", id] => Some(StateLine::Server { id: id.to_owned() }),
            ["mark", export, ..] => Some(StateLine::Mark {
                export: hex::path(export)?,
                mark: Mark::read(text.strip_prefix("mark ")?.strip_prefix(export)?.strip_prefix(' ')?)?,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<StateLine> {
        let (outer, inner) = (Handle::from_u64(1), Handle::from_u64(2));
        vec![
            StateLine::Alias { export: "/a b".into(), outer, inner },
            StateLine::Lost { log: "0a1b".to_owned(), export: "/a b".into() },
            StateLine::Failed { memory: 7 },
            StateLine::Server { id: "0a1b".to_owned() },
            StateLine::Replayed { export: "/a b".into() },
            StateLine::Began { log: "0a1b".to_owned(), tail: 7 },
            StateLine::Mark { export: "/a b".into(), mark: Mark::read("needed 0a 7 2 3 2f").unwrap() },
            StateLine::Retired { log: "0a1b".to_owned() },
        ]
    }

    fn file(lines: &[StateLine]) -> Vec<u8> {
        lines.iter().map(|line| line.text() + "\n").collect::<String>().into_bytes()
    }

    #[test]
    fn line_that_is_torn_anywhere_is_left_out() {
        let lines = lines();
        let last = file(&lines[7..]).len();
        let whole = file(&lines);
        for missing in 2..=last {
            assert_eq!(
                read_all(&whole[..whole.len() - missing]).as_deref(),
                Ok(&lines[..7]),
                "without {missing} bytes"
            );
            let mut zeros = whole.clone();
            let end = zeros.len() - 1;
            zeros[whole.len() - missing..end].fill(0);
            assert_eq!(read_all(&zeros).as_deref(), Ok(&lines[..7]), "with {missing} zeros");
        }
        assert_eq!(read_all(&whole), Ok(lines));
    }

    #[test]
    fn line_with_any_byte_changed_but_at_its_end_is_damaged() {
        let lines = lines();
        for (number, line) in lines.iter().enumerate() {
            for at in 0..line.text().len() - END.len() {
                let mut damaged = file(&lines);
                damaged[file(&lines[..number]).len() + at] ^= 1;
                assert_eq!(read_all(&damaged), Err(number + 1), "byte {at} of line {number}");
            }
        }
    }

    #[test]
    fn other_data_are_damaged() {
        for other in [&b"hello"[..], b"alias\xff", b"[table]", b"retired 0a ."] {
            assert_eq!(read_all(other), Err(1), "{}", other.escape_ascii());
        }
    }
}
