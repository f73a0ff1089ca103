//! Counting: callgrind runs a program that answers calls by hand, or makes them in memory, twice, and what differs is the cost of
//! the calls by which the runs differ.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Failure, Outcome, command};

/// What is counted of the server, as the driver knows it and as people do.
const OPERATIONS: [(&str, &str); 6] = [
    ("getattr", "GETATTR"),
    ("lookup", "LOOKUP"),
    ("read", "READ of 4 KiB"),
    ("read41", "SEQUENCE+PUTFH+READ of 4 KiB"),
    ("createremove", "CREATE and REMOVE by turns"),
    ("readdirplus", "READDIRPLUS of 60 names"),
];

/// The forms of handles, which decide how names and handles are looked up.
const FORMS: [&str; 2] = ["kernel", "store"];

/// What is counted of the client.
const READ_OF_CLIENT: Subject = Subject { operation: ("read", "READ of 4 KiB"), side: Side::Client };

/// How many calls the shorter run makes, and how many the longer one.
const SHORT_RUN: u64 = 200;
const LONG_RUN: u64 = 1200;

/// Where the files are that the calls are about: in memory, since on other file systems the server takes other ways.
const MEMORY: &str = "/dev/shm";

/// The only processors that counts are recorded for: elsewhere the same work is another number of instructions.
const ARCHITECTURE: &str = "x86_64";

/// An operation of one side.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    operation: (&'static str, &'static str),
    side: Side,
}

/// Whose work is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The server's, with a form of handles.
    Server(&'static str),
    Client,
}

impl Subject {
    /// What its bound is kept under.
    pub fn key(&self) -> String {
        let side = match self.side {
            Side::Server(form) => form,
            Side::Client => "client",
        };
        format!("{} {side}", self.operation.0)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.side {
            Side::Server(form) => write!(f, "{} with handles of the {form}", self.operation.1),
            Side::Client => write!(f, "{} by the client", self.operation.1),
        }
    }
}

impl Side {
    /// The package and the example that is run.
    fn example(self) -> (&'static str, &'static str) {
        match self {
            Side::Server(_) => ("wharf-server", "by_hand"),
            Side::Client => ("wharf-client", "many_reads"),
        }
    }
}

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

/// What came of counting.
#[derive(Debug, Clone)]
pub enum Counted {
    Cost(Cost),
    /// Why nothing can be counted here.
    Skipped(String),
}

/// Counts everything.
pub fn all(root: &Path) -> Outcome<Vec<(Subject, Counted)>> {
    if let Some(why) = missing() {
        return Ok(subjects().map(|subject| (subject, Counted::Skipped(why.to_owned()))).collect());
    }
    for side in [Side::Server(FORMS[0]), Side::Client] {
        let (package, example) = side.example();
        let build = ["build", "--quiet", "--release", "--locked", "--package", package, "--example", example];
        command::run(command::cargo(root, &build))?;
    }
    let driver = Driver { examples: command::target_folder(root).join("release/examples"), folder: Folder::new()? };
    subjects().map(|subject| Ok((subject, driver.count(&subject)?))).collect()
}

fn subjects() -> impl Iterator<Item = Subject> {
    let of_form = |form| OPERATIONS.into_iter().map(move |operation| Subject { operation, side: Side::Server(form) });
    FORMS.into_iter().flat_map(of_form).chain([READ_OF_CLIENT])
}

/// What is missing here, if anything.
fn missing() -> Option<&'static str> {
    if std::env::consts::ARCH != ARCHITECTURE {
        return Some("bounds are kept for another kind of processor");
    }
    if !command::is_installed("valgrind") {
        return Some("valgrind is not installed");
    }
    (!Path::new(MEMORY).is_dir()).then_some("there is no file system in memory")
}

/// Where the programs are that answer or make calls, and where they may make files.
struct Driver {
    examples: PathBuf,
    folder: Folder,
}

impl Driver {
    fn count(&self, subject: &Subject) -> Outcome<Counted> {
        // Only who may open files by the kernel's handles can serve with them.
        if subject.side == Side::Server("kernel") && !self.serves(subject)? {
            return Ok(Counted::Skipped("this process may not open files by the kernel's handles".to_owned()));
        }
        let (short, long) = (self.total(subject, SHORT_RUN)?, self.total(subject, LONG_RUN)?);
        let per_call = |of: fn(&Total) -> u64| (of(&long) as f64 - of(&short) as f64) / (LONG_RUN - SHORT_RUN) as f64;
        Ok(Counted::Cost(Cost {
            instructions: per_call(|total| total.instructions),
            system_calls: per_call(|total| total.system_calls),
        }))
    }

    fn serves(&self, subject: &Subject) -> Outcome<bool> {
        let mut command = Command::new(self.program(subject));
        command.args(self.arguments(subject, 0)?).stderr(Stdio::null());
        Ok(command.status().map_err(|source| command::spawn_failure(&command, source))?.success())
    }

    fn program(&self, subject: &Subject) -> PathBuf {
        self.examples.join(subject.side.example().1)
    }

    /// What a whole run costs that has `times` calls.
    fn total(&self, subject: &Subject, times: u64) -> Outcome<Total> {
        let arguments = self.arguments(subject, times)?;
        let counts = self.folder.0.join("counts");
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--quiet", "--tool=callgrind", "--collect-systime=yes"]);
        valgrind.arg(format!("--callgrind-out-file={}", counts.display())).arg(self.program(subject)).args(arguments);
        command::output(valgrind)?;
        let text = fs::read_to_string(&counts).map_err(|source| Failure::File { path: counts, source })?;
        Total::parse(&text).ok_or_else(|| Failure::Command("callgrind told no totals".to_owned()))
    }

    /// The program's arguments, with an empty folder among those of the server's.
    fn arguments(&self, subject: &Subject, times: u64) -> Outcome<Vec<String>> {
        let Side::Server(form) = subject.side else { return Ok(vec![times.to_string()]) };
        let folder = self.folder.emptied("files")?;
        let [form, operation] = [form, subject.operation.0].map(str::to_owned);
        Ok(vec![form, operation, times.to_string(), LONG_RUN.to_string(), folder.to_string_lossy().into_owned()])
    }
}

/// What a run cost.
#[derive(Debug, PartialEq, Eq)]
struct Total {
    instructions: u64,
    system_calls: u64,
}

impl Total {
    /// Reads callgrind's file: a line names what was counted, another one has the sums in the same order.
    fn parse(text: &str) -> Option<Total> {
        let line = |head: &str| text.lines().find_map(|line| line.strip_prefix(head)).map(str::split_whitespace);
        let sums: Vec<(&str, &str)> = line("events:")?.zip(line("totals:")?).collect();
        let sum = |name: &str| sums.iter().find(|(event, _)| *event == name)?.1.parse().ok();
        Some(Total { instructions: sum("Ir")?, system_calls: sum("sysCount")? })
    }
}

/// A folder in memory that is gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Outcome<Folder> {
        let path = Path::new(MEMORY).join(format!("wharf-instructions-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|source| Failure::File { path: path.clone(), source })?;
        Ok(Folder(path))
    }

    fn emptied(&self, name: &str) -> Outcome<PathBuf> {
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
        assert_eq!(Total::parse(text), Some(Total { instructions: 7_369_598, system_calls: 233 }));
        assert_eq!(Total::parse("events: Ir sysCount\n"), None);
        assert_eq!(Total::parse("events: Ir\ntotals: 5\n"), None);
    }
}
