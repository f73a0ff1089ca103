//! What counts the instructions of a server, outside of the kernel, from when it is asked to: perf where the
//! processor's counters are available, callgrind otherwise.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::perf::{self, PERF};

const PERF_EVENT: &str = "instructions:u";
const VALGRIND: &str = "valgrind";
const CALLGRIND_CONTROL: &str = "callgrind_control";
/// Where counts are left, below the server's state.
const COUNTS: &str = "counts";

/// Why there is no count.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CounterError {
    /// The counter does not start or stop.
    #[error("{program} does not start or stop counting: {reason}")]
    Switch { program: &'static str, reason: String },
    /// What was counted cannot be read.
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// It has no sum.
    #[error("{} has no sum of instructions", path.display())]
    NoSum { path: PathBuf },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    Perf,
    Callgrind,
}

impl Counter {
    /// The one that there is here.
    pub(super) fn find() -> Option<Counter> {
        static FOUND: OnceLock<Option<Counter>> = OnceLock::new();
        *FOUND.get_or_init(|| {
            let output = Command::new(PERF).args(["stat", "-x", ",", "-e", PERF_EVENT, "true"]).output();
            if output.is_ok_and(|output| sum(&String::from_utf8_lossy(&output.stderr)).is_some()) {
                return Some(Counter::Perf);
            }
            let has = |program: &str| {
                let mut command = Command::new(program);
                let status = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
                status.is_ok_and(|status| status.success())
            };
            (has(VALGRIND) && has(CALLGRIND_CONTROL)).then_some(Counter::Callgrind)
        })
    }

    /// A command that runs `program`, whose arguments follow. It counts nothing yet.
    pub(super) fn command(self, program: &Path, state: &Path) -> io::Result<Command> {
        let counts = state.join(COUNTS);
        // The counts of an earlier server are not this one's. Usually there are none.
        let _ = fs::remove_file(&counts);
        let mut command = match self {
            Counter::Perf => {
                let mut command = Command::new(PERF);
                command.args(["stat", "--delay=-1", "--control", &perf::make_pipes(state)?]);
                command.args(["-x", ",", "-e", PERF_EVENT, "-o"]).arg(counts).arg("--");
                command
            }
            Counter::Callgrind => {
                let mut command = Command::new(VALGRIND);
                command.args(["--quiet", "--tool=callgrind", "--instr-atstart=no"]);
                command.arg(format!("--callgrind-out-file={}", counts.display()));
                command
            }
        };
        command.arg(program);
        Ok(command)
    }

    /// Has the process that it is, in front of a server with this state, begin or stop to count.
    pub(super) fn switch(self, pid: u32, state: &Path, is_on: bool) -> Result<(), CounterError> {
        let (program, switched) = match self {
            Counter::Perf => (PERF, perf::switch(state, is_on)),
            Counter::Callgrind => (CALLGRIND_CONTROL, tell_callgrind(pid, if is_on { "on" } else { "off" })),
        };
        switched.map_err(|error| CounterError::Switch { program, reason: error.to_string() })
    }
}

fn tell_callgrind(pid: u32, is_on: &str) -> io::Result<()> {
    let output = Command::new(CALLGRIND_CONTROL).args(["-i", is_on, &pid.to_string()]).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    // Its exit status is 0 in any case.
    if said.contains("OK.") { Ok(()) } else { Err(io::Error::other(said.trim().to_owned())) }
}

/// The sum of what was counted for a server with this state, which has ended.
pub(super) fn counted(state: &Path) -> Result<u64, CounterError> {
    let path = state.join(COUNTS);
    let text = fs::read_to_string(&path).map_err(|source| CounterError::Read { path: path.clone(), source })?;
    sum(&text).ok_or(CounterError::NoSum { path })
}

/// The sum of instructions in what a counter wrote.
fn sum(counts: &str) -> Option<u64> {
    counts.lines().find_map(|line| match line.strip_prefix("totals: ") {
        Some(numbers) => numbers.split_whitespace().next()?.parse().ok(),
        None => {
            let mut fields = line.split(',');
            let number = fields.next()?.parse().ok()?;
            (fields.nth(1)? == PERF_EVENT).then_some(number)
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};

    use super::*;
    use crate::perf::PIPES;

    #[test]
    fn sums_are_those_of_either_counter_and_none_where_an_event_is_not_supported() {
        assert_eq!(sum("events: Ir\nfn=(0) main\n0 12\nsummary: 40\ntotals: 42 7\n"), Some(42));
        assert_eq!(sum("# started on Sat\n\n84213,,instructions:u,826590,100.00,,\n"), Some(84_213));
        assert_eq!(sum("<not supported>,,instructions:u,0,100.00,,\n0.83,msec,task-clock:u,8,100.00,,\n"), None);
    }

    #[test]
    fn perf_that_does_not_answer_is_an_error_and_one_that_does_is_none() {
        let state = std::env::temp_dir().join(format!("wharf-counter-test-{}", std::process::id()));
        fs::create_dir(&state).unwrap();
        let command = Counter::Perf.command(Path::new("true"), &state).unwrap();
        assert!(format!("{command:?}").ends_with("\"--\" \"true\""), "{command:?}");
        // The answer waits in the pipe, as long as somebody has it open.
        let mut answers = File::options().read(true).write(true).open(state.join(PIPES[1])).unwrap();
        answers.write_all(b"ack\n\0").unwrap();
        let mut control = File::options().read(true).write(true).open(state.join(PIPES[0])).unwrap();
        Counter::Perf.switch(1, &state, true).unwrap();
        let mut command = [0; 16];
        let count = control.read(&mut command).unwrap();
        assert_eq!(command[..count], *b"enable\n");
        fs::remove_dir_all(&state).unwrap();
        let error = Counter::Perf.switch(1, &state, false).unwrap_err();
        assert!(error.to_string().starts_with("perf does not start or stop counting: "), "{error}");
    }
}
