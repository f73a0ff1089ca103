//! Counting: callgrind runs a program that answers calls by hand, or makes them in memory, and counts within one
//! function: the same calls cost the same on any machine, however busy it is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::callgrind::{self, Cost, Folder, Part};
use crate::{Outcome, command};

/// What is counted of the server, as the driver knows it and as people do.
const OPERATIONS: [(&str, &str); 12] = [
    ("getattr", "GETATTR"),
    ("lookup", "LOOKUP"),
    ("read", "READ of 4 KiB"),
    ("read41", "SEQUENCE+PUTFH+READ of 4 KiB"),
    ("readplus42", "SEQUENCE+PUTFH+READ_PLUS of 64 KiB in segments of 4 KiB"),
    ("getattr41", "SEQUENCE+PUTFH+GETATTR"),
    ("open41", "SEQUENCE+PUTFH+OPEN+GETFH+ACCESS+GETATTR+CLOSE"),
    ("lock41", "SEQUENCE+PUTFH+LOCK+LOCKU in a file of its own"),
    ("write41", "SEQUENCE+PUTFH+WRITE+GETATTR of 4 KiB"),
    ("writerun", "run of 8 WRITEs of 4 KiB"),
    ("createremove", "CREATE and REMOVE by turns"),
    ("readdirplus", "READDIRPLUS of 60 names"),
];

/// The forms of handles, which decide how names and handles are looked up.
const FORMS: [&str; 2] = ["kernel", "store"];

/// The form of handles behind a write log, and what must hardly cost more there: nothing of it needs the log.
const LOGGED: &str = "log";
const UNLOGGED_OPERATIONS: [&str; 3] = ["read", "write41", "writerun"];

/// What is counted of the client.
const READ_OF_CLIENT: Subject = Subject { operation: ("read", "READ of 4 KiB"), side: Side::Client };

/// How many calls are counted.
const CALLS: u64 = 1000;

/// An operation of one side.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    operation: (&'static str, &'static str),
    side: Side,
}

/// Whose work is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The server's, with a form of handles, or with [`LOGGED`].
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
            Side::Server(LOGGED) => write!(f, "{} with a write log", self.operation.1),
            Side::Server(form) => write!(f, "{} with handles of the {form}", self.operation.1),
            Side::Client => write!(f, "{} by the client", self.operation.1),
        }
    }
}

impl Side {
    /// The example that is run.
    fn example(self) -> &'static str {
        match self {
            Side::Server(_) => "by_hand",
            Side::Client => "many_reads",
        }
    }

    /// The part of it that counts.
    fn counted(self) -> Part {
        match self {
            Side::Server(_) => Part::Call("by_hand::counted"),
            Side::Client => Part::Call("many_reads::counted"),
        }
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
    if let Some(why) = callgrind::missing() {
        return Ok(subjects().map(|subject| (subject, Counted::Skipped(why.to_owned()))).collect());
    }
    let driver = Driver { examples: callgrind::build_examples(root)?, folder: Folder::new("instructions")? };
    subjects().map(|subject| Ok((subject, driver.count(&subject)?))).collect()
}

fn subjects() -> impl Iterator<Item = Subject> {
    let of_form = |form| OPERATIONS.into_iter().map(move |operation| Subject { operation, side: Side::Server(form) });
    let logged = of_form(LOGGED).filter(|subject| UNLOGGED_OPERATIONS.contains(&subject.operation.0));
    FORMS.into_iter().flat_map(of_form).chain(logged).chain([READ_OF_CLIENT])
}

/// Where the programs are that answer or make calls, and where they may make files.
struct Driver {
    examples: PathBuf,
    folder: Folder,
}

impl Driver {
    fn count(&self, subject: &Subject) -> Outcome<Counted> {
        // Only who may open files by the kernel's handles can serve with them.
        let needs_privilege = [Side::Server("kernel"), Side::Server(LOGGED)].contains(&subject.side);
        if needs_privilege && !self.serves(subject)? {
            return Ok(Counted::Skipped("this process may not open files by the kernel's handles".to_owned()));
        }
        let mut run = Command::new(self.program(subject));
        run.args(self.arguments(subject, CALLS)?);
        let total = callgrind::count(&run, subject.side.counted(), &self.folder)?.total;
        let per_call = |count: u64| count as f64 / CALLS as f64;
        Ok(Counted::Cost(Cost {
            instructions: per_call(total.instructions),
            system_calls: per_call(total.system_calls),
        }))
    }

    fn serves(&self, subject: &Subject) -> Outcome<bool> {
        let mut command = Command::new(self.program(subject));
        command.args(self.arguments(subject, 0)?).stderr(Stdio::null());
        Ok(command.status().map_err(|source| command::spawn_failure(&command, source))?.success())
    }

    fn program(&self, subject: &Subject) -> PathBuf {
        self.examples.join(subject.side.example())
    }

    /// The program's arguments, with an empty folder among those of the server's.
    fn arguments(&self, subject: &Subject, times: u64) -> Outcome<Vec<String>> {
        let Side::Server(form) = subject.side else { return Ok(vec![times.to_string()]) };
        let folder = self.folder.emptied("files")?;
        let [form, operation] = [form, subject.operation.0].map(str::to_owned);
        Ok(vec![form, operation, times.to_string(), folder.to_string_lossy().into_owned()])
    }
}
