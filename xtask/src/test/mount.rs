//! The checks of `tests/mount` and `tests/ganesha`: programs that were written for any file system, on what `wharf
//! mount` shows.

use std::path::Path;
use std::process::Command;

use super::scripts;
use super::tally::Counts;
use crate::install::{self, ForeignCrate};
use crate::{Outcome, command};

/// What runs the checks: each prints a line for each check.
const SCRIPTS: [&str; 3] = ["tests/mount/run", "tests/mount/posix", "tests/ganesha/run"];

/// Programs that come as crates.
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
    install::ensure_crates(root, &folder, &CRATES);
    scripts::run(&SCRIPTS, |script| {
        let mut checks = Command::new(root.join(script));
        checks.current_dir(root).env("WHARF", &wharf).env("FOREIGN", folder.join("bin"));
        checks
    })
}
