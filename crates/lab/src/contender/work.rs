//! What Wharf's server counts of its work: SIGUSR1 has it log all its counters.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// The line that a server writes when it is asked.
const LINE: &str = "counters so far";

/// What it did since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Work {
    /// Replies that were copied, because they had too many segments.
    pub(crate) flattened: u64,
    /// The bytes of these, and of all that were copied for another reason.
    pub(crate) copied_bytes: u64,
    /// Files that were opened for a call.
    pub(crate) opened_files: u64,
}

/// Why its work is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkError {
    /// The server is not there any more.
    #[error("server process {pid}: {source}")]
    Gone { pid: u32, source: io::Error },
    /// Its log cannot be read.
    #[error("{}: {source}", path.display())]
    Log { path: PathBuf, source: io::Error },
    /// It does not answer.
    #[error("{}: the server logs no counters after SIGUSR1; does it log at level info?", path.display())]
    Silent { path: PathBuf },
}

impl Work {
    /// Asks the server of this process and log.
    pub(super) fn of(pid: u32, path: &Path) -> Result<Work, WorkError> {
        let failed = |source| WorkError::Log { path: path.to_owned(), source };
        let gone = |source| WorkError::Gone { pid, source };
        let mut log = File::open(path).map_err(failed)?;
        log.seek(SeekFrom::End(0)).map_err(failed)?;
        let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let process = process.ok_or_else(|| gone(io::ErrorKind::NotFound.into()))?;
        kill_process(process, Signal::USR1).map_err(|error| gone(error.into()))?;
        let (began, mut text) = (Instant::now(), String::new());
        while began.elapsed() < TIMEOUT {
            log.read_to_string(&mut text).map_err(failed)?;
            if let Some(work) = Work::parse(&text) {
                return Ok(work);
            }
            thread::sleep(POLL_INTERVAL);
        }
        Err(WorkError::Silent { path: path.to_owned() })
    }

    /// Reads the line, once all of it is there. A counter of zero is left out of it.
    fn parse(log: &str) -> Option<Work> {
        let (whole, _) = log.rsplit_once('\n')?;
        let line = whole.lines().find(|line| line.contains(LINE))?;
        let number = |name: &str| line.split_whitespace().find_map(|word| word.strip_prefix(name)?.parse().ok());
        Some(Work {
            flattened: number("flattened_replies=").unwrap_or(0),
            copied_bytes: number("copied_bytes=").unwrap_or(0),
            opened_files: number("opened_files=").unwrap_or(0),
        })
    }

    /// What it did after `earlier`.
    pub(crate) fn since(self, earlier: Work) -> Work {
        Work {
            flattened: self.flattened - earlier.flattened,
            copied_bytes: self.copied_bytes - earlier.copied_bytes,
            opened_files: self.opened_files - earlier.opened_files,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_whole_line_and_zero_where_it_lacks_them() {
        let line = "2026-11-28T11:00:00.000000Z  INFO counters so far connections=1 calls=9 opened_files=3 \
                    flattened_replies=7 copied_bytes=459676";
        assert_eq!(Work::parse(line), None);
        let found = Work::parse(&format!("x\n{line}\n")).unwrap();
        assert_eq!(found, Work { flattened: 7, copied_bytes: 459_676, opened_files: 3 });
        assert_eq!(Work::parse(" INFO counters so far connections=1\n"), Some(Work::default()));
        assert_eq!(found.since(Work { flattened: 2, copied_bytes: 9, opened_files: 3 }).opened_files, 0);
    }
}
