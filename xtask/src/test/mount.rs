//! The checks of `tests/mount` and `tests/ganesha`: programs that were written for any file system, on what `wharf
//! mount` shows.

use std::path::Path;
use std::process::Command;
use std::thread;

use super::scripts;
use super::tally::Counts;
use crate::install::{self, ForeignCrate};
use crate::{Outcome, command};

/// What runs the checks: each prints a line for each check.
const SCRIPTS: [&str; 2] = ["tests/mount/run", "tests/ganesha/run"];

/// The same, by programs that come as crates.
const SCRIPT_OF_CRATES: &str = "tests/mount/posix";

const CRATES: [ForeignCrate; 2] = [
    // Changes a file at random and compares every read.
    ForeignCrate { name: "fsx", version: "0.3.2" },
    // Tries the system calls on names, owners and modes against POSIX.
    ForeignCrate { name: "pjdfstest", version: "0.2.2" },
];

/// Runs the checks; where there is no FUSE they say so and count as skipped.
pub fn run(root: &Path) -> Outcome<Counts> {
    // The Rust tests have built it, and it checks more than the released one. A build of this package alone would build
    // its dependencies again, with fewer features.
    let wharf = command::target_folder(root).join("debug/wharf");
    let folder = command::target_folder(root).join("foreign");
    let run = |script: &'static str| {
        let mut checks = Command::new(root.join(script));
        checks.current_dir(root).env("WHARF", &wharf).env("FOREIGN", folder.join("bin"));
        run_script(script, checks)
    };
    thread::scope(|scope| {
        // Each has servers, ports and mounts of its own.
        let others = SCRIPTS.map(|script| scope.spawn(move || run(script)));
        install::ensure_crates(root, &folder, &CRATES);
        let mut counts = run(SCRIPT_OF_CRATES)?;
        for other in others {
            counts += super::join(other)?;
        }
        Ok(counts)
    })
}

/// Runs a script and shows its output when it ends, so that it does not mix with that of others.
fn run_script(script: &str, checks: Command) -> Outcome<Counts> {
    let mut shown = String::new();
    let counts = scripts::run(script, checks, |line| {
        shown.push_str(line);
        shown.push('\n');
    });
    print!("{shown}");
    counts
}
