//! Counts instructions and system calls of a program under callgrind. A count needs no quiet machine and no clock.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, Outcome, command};

/// The parent of all files that counted calls work on: in memory, since the server takes other paths on other file
/// systems.
const MEMORY: &str = "/dev/shm";

/// The only processors that counts are recorded for: elsewhere the same work takes another number of instructions.
const ARCHITECTURE: &str = "x86_64";

/// The examples that are counted: packages and names.
const EXAMPLES: [(&str, &str); 4] = [
    ("wharf-server", "by_hand"),
    ("wharf-server", "growth"),
    ("wharf-net", "in_turns"),
    ("wharf-client", "many_reads"),
];

/// What one call costs, outside of the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    pub instructions: f64,
    pub system_calls: f64,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} and {:.2} system calls", self.instructions, self.system_calls)
    }
}

/// What a run cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    pub instructions: u64,
    pub system_calls: u64,
}

/// A counted run.
#[derive(Debug)]
pub struct Run {
    pub total: Total,
    /// What the program printed.
    pub output: Vec<u8>,
}

/// The reason why nothing can be counted here, if any.
pub fn missing() -> Option<&'static str> {
    if std::env::consts::ARCH != ARCHITECTURE {
        return Some("bounds are kept for another kind of processor");
    }
    if !command::is_installed("valgrind") {
        return Some("valgrind is not installed");
    }
    (!Path::new(MEMORY).is_dir()).then_some("there is no file system in memory")
}

/// Builds all examples that are counted, and returns their folder. They are built at once: for each package alone, the
/// crates below would be built again with other features.
pub fn build_examples(root: &Path) -> Outcome<PathBuf> {
    let mut build = command::cargo(root, &["build", "--quiet", "--release", "--locked"]);
    for (package, example) in EXAMPLES {
        build.args(["--package", package, "--example", example]);
    }
    command::run(build)?;
    Ok(command::target_folder(root).join("release/examples"))
}

/// What of a program is counted.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// All that it does, in all threads.
    Everything,
    /// One call of a function by the main thread, by its exact name: callgrind (3.19) heeds one option alone for a
    /// pattern. What comes before and after depends on the machine: which files there are, how memory is given out,
    /// when threads sleep.
    Call(&'static str),
    /// Of one call of the first function: the instructions within the second one (a pattern), and all system calls.
    Within(&'static str, &'static str),
}

/// Counts `program` with its arguments, or a part of it.
pub fn count(program: &Command, part: Part, folder: &Folder) -> Outcome<Run> {
    let folder = folder.emptied("counts")?;
    let counts = folder.join("counts");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind", "--collect-systime=yes"]);
    if let Part::Call(function) | Part::Within(function, _) = part {
        valgrind.arg("--separate-threads=yes");
        valgrind.args([format!("--zero-before={function}"), format!("--dump-after={function}")]);
    }
    if let Part::Within(_, function) = part {
        valgrind.arg(format!("--toggle-collect={function}"));
    }
    valgrind.arg(format!("--callgrind-out-file={}", counts.display()));
    valgrind.arg(program.get_program()).args(program.get_args());
    let output = command::output(valgrind)?;
    // The first dump is that of the call, and the first thread the main one.
    let (path, head) = match part {
        Part::Everything => (counts, "totals:"),
        Part::Call(_) | Part::Within(..) => (folder.join("counts.1-01"), "summary:"),
    };
    let text = fs::read_to_string(&path).map_err(|source| Failure::File { path, source })?;
    let total = Total::parse(&text, head).ok_or_else(|| Failure::Command("callgrind printed no sums".to_owned()))?;
    Ok(Run { total, output })
}

impl Total {
    /// Reads callgrind's file: a line names what was counted, the one with this head has the sums in the same order.
    /// Zeros at the end of the sums are left out.
    fn parse(text: &str, head: &str) -> Option<Total> {
        let line = |head: &str| text.lines().find_map(|line| line.strip_prefix(head)).map(str::split_whitespace);
        let sums: Vec<(&str, &str)> = line("events:")?.zip(line(head)?.chain(std::iter::repeat("0"))).collect();
        let sum = |name: &str| sums.iter().find(|(event, _)| *event == name)?.1.parse().ok();
        Some(Total { instructions: sum("Ir")?, system_calls: sum("sysCount")? })
    }
}

/// A folder in memory that is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder for the command `name`.
    pub fn new(name: &str) -> Outcome<Folder> {
        let path = Path::new(MEMORY).join(format!("wharf-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|source| Failure::File { path: path.clone(), source })?;
        Ok(Folder(path))
    }

    /// An empty folder `name` in it.
    pub fn emptied(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.0.join(name);
        // It is not there the first time.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).map_err(|source| Failure::File { path: path.clone(), source })?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_found_by_name_wherever_they_stand() {
        let text = "version: 1\nevents: sysTime Ir sysCount\nfn=(1)\n3 4 5\ntotals: 17 7369598 233\n";
        assert_eq!(Total::parse(text, "totals:"), Some(Total { instructions: 7_369_598, system_calls: 233 }));
        assert_eq!(Total::parse("events: Ir sysCount\n", "totals:"), None);
    }

    #[test]
    fn sums_that_are_left_out_are_zero() {
        let counted = Total { instructions: 5, system_calls: 0 };
        assert_eq!(Total::parse("events: Ir sysCount sysTime\nsummary: 5\n", "summary:"), Some(counted));
        assert_eq!(Total::parse("events: sysTime sysCount\ntotals: 5\n", "totals:"), None);
    }
}
