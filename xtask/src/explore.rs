//! `cargo xtask explore`: many power failures, on each file system, with and without a write log.
//!
//! The tests that cut the power do the work, more often than as a part of all tests; each prints what it has seen.

use std::path::Path;
use std::process::Command;

use crate::install::{self, Program};
use crate::{Failure, Outcome, command};

const USAGE: &str = "explore takes --cuts N, --seed S and --setup NAME, and nothing else";
const PROGRAMS: [Program; 3] = [
    Program { name: "mkfs.ext4", packages: &["e2fsprogs"] },
    Program { name: "mkfs.xfs", packages: &["xfsprogs"] },
    Program { name: "mkfs.btrfs", packages: &["btrfs-progs"] },
];

/// The tests: a package, a program of it, what their names begin with, and what their rows begin with.
const TESTS: [Tests; 5] = [
    Tests {
        package: "wharf-stable",
        program: "recorded_device",
        prefix: "acknowledged_changes_are_there_after_a_power_failure_on::",
        rows: "",
    },
    Tests {
        package: "wharf-stable",
        program: "recorded_device",
        prefix: "stable_data_are_there_whichever_request_of_the_disk_fails_on::",
        rows: "each_request_of_",
    },
    Tests {
        package: "wharf",
        program: "all",
        prefix: "power_cuts::change_is_there_after_a_power_failure_behind_its_reply_on::",
        rows: "each_change_on_",
    },
    // Logs that are missing, moved, old, full or of another host, after a power failure of two exports.
    Tests { package: "wharf", program: "all", prefix: "lost_logs::", rows: "lost_logs::" },
    // Commands and messages about such logs.
    Tests { package: "wharf", program: "all", prefix: "write_log::", rows: "write_log::" },
];

/// Tests that run together.
#[derive(Clone, Copy)]
struct Tests {
    package: &'static str,
    program: &'static str,
    prefix: &'static str,
    /// What the setups of these tests have in front of their names.
    rows: &'static str,
}

/// Tests mostly wait for disks: so many run at once.
const THREADS: &str = "6";
const DEFAULT_CUTS: u64 = 100;

/// What the command line says.
#[derive(Debug, PartialEq)]
struct Options {
    /// At least so many power failures of each setup.
    cuts: u64,
    seed: u64,
    setup: Option<String>,
}

/// What the tests have printed.
#[derive(Debug, Default, PartialEq)]
struct Explored {
    rows: Vec<Row>,
    /// Setups of which nothing is promised, with the reason, and setups that are not available here.
    left_out: Vec<String>,
}

/// What was seen of one setup.
#[derive(Debug, Clone, Default, PartialEq)]
struct Row {
    setup: String,
    cuts: u64,
    changes: u64,
    replays: u64,
    failures: u64,
    /// The run that failed, if one did.
    seed: u64,
}

/// Explores, and prints a table; a loss is a failure.
pub fn run(root: &Path, words: &[String]) -> Outcome {
    let options = Options::parse(words)?;
    install::ensure(&PROGRAMS, "their file systems are left out");
    let mut explored = Explored::default();
    let mut is_success = true;
    for tests in TESTS {
        let take = |line: &str| {
            println!("{line}");
            explored.take(line);
        };
        if let Some(command) = options.command(root, tests) {
            is_success &= command::stream(command, take)?;
        }
    }
    explored.print();
    match explored.rows.iter().map(|row| row.failures).sum::<u64>() {
        0 if is_success => Ok(()),
        0 => Err(Failure::Tests),
        failures => Err(Failure::Broken { count: failures as usize, what: "setups lose acknowledged changes" }),
    }
}

impl Options {
    fn parse(words: &[String]) -> Outcome<Options> {
        let usage = || Failure::Usage(USAGE.to_owned());
        let mut options = Options { cuts: DEFAULT_CUTS, seed: 0, setup: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(usage)?;
            let number = || value.parse().map_err(|_| usage());
            match word.as_str() {
                "--cuts" => options.cuts = number()?,
                "--seed" => options.seed = number()?,
                "--setup" => options.setup = Some(value.clone()),
                _ => return Err(usage()),
            }
        }
        Ok(options)
    }

    /// The command that runs tests, or `None` if the chosen setup is none of theirs.
    fn command(&self, root: &Path, tests: Tests) -> Option<Command> {
        let Tests { package, program, prefix, rows } = tests;
        let arguments = ["test", "--quiet", "--locked", "--package", package, "--test", program, "--"];
        let mut command = command::cargo(root, &arguments);
        command.args(["--format=pretty", "--show-output", "--test-threads", THREADS]);
        match &self.setup {
            // A setup that is chosen runs even if nothing is promised.
            Some(setup) => {
                let name = setup.strip_prefix(rows)?;
                command.args(["--include-ignored", "--exact", &format!("{prefix}{name}")])
            }
            None => command.arg(prefix),
        };
        command.env("WHARF_CUTS", self.cuts.to_string()).env("WHARF_SEED", self.seed.to_string());
        Some(command)
    }
}

impl Explored {
    fn take(&mut self, line: &str) {
        if let Some(row) = line.strip_prefix("explored ").and_then(Row::parse) {
            self.rows.push(row);
        } else if let Some((test, reason)) =
            line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ignored, "))
        {
            let setup = test.rsplit("::").next().unwrap_or(test);
            self.left_out.push(format!("{setup} is not promised and not counted: {reason}"));
        } else if line.starts_with("skipped") {
            self.left_out.push(line.to_owned());
        }
    }

    fn print(&mut self) {
        self.rows.sort_by(|one, other| one.setup.cmp(&other.setup));
        println!("\n{:<40} {:>8} {:>9} {:>9} {:>9}", "setup", "cuts", "changes", "replays", "failures");
        for row in self.rows.iter().chain([&self.total()]) {
            println!("{:<40} {:>8} {:>9} {:>9} {:>9}", row.setup, row.cuts, row.changes, row.replays, row.failures);
        }
        println!();
        self.left_out.iter().for_each(|line| println!("{line}"));
        for row in self.rows.iter().filter(|row| row.failures > 0) {
            println!("{} fails: cargo xtask explore --setup {} --seed {}", row.setup, row.setup, row.seed);
        }
    }

    fn total(&self) -> Row {
        let sum = |of: fn(&Row) -> u64| self.rows.iter().map(of).sum();
        Row {
            setup: "total".to_owned(),
            cuts: sum(|row| row.cuts),
            changes: sum(|row| row.changes),
            replays: sum(|row| row.replays),
            failures: sum(|row| row.failures),
            seed: 0,
        }
    }
}

impl Row {
    /// What a test prints: a name, and `key=value` for each count.
    fn parse(line: &str) -> Option<Row> {
        let mut words = line.split(' ');
        let mut row = Row { setup: words.next()?.to_owned(), ..Row::default() };
        for (key, value) in words.filter_map(|word| word.split_once('=')) {
            let count = match key {
                "cuts" => &mut row.cuts,
                "changes" => &mut row.changes,
                "replays" => &mut row.replays,
                "failures" => &mut row.failures,
                "seed" => &mut row.seed,
                _ => continue,
            };
            *count = value.parse().ok()?;
        }
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_tests_become_rows_and_what_is_left_out_has_its_reason() {
        let mut explored = Explored::default();
        explored.take("explored ext4_with_a_log cuts=24 changes=300 replays=7 failures=1 seed=3");
        explored.take("explored xfs cuts=26 changes=200 replays=0 failures=0 seed=9");
        explored.take("test failure_on::overlay ... ignored, no promise");
        explored.take("skipped for xfs: mkfs.xfs cannot be run");
        explored.take("test other ... ok");
        let total = explored.total();
        assert_eq!((total.cuts, total.changes, total.replays, total.failures), (50, 500, 7, 1));
        assert_eq!(explored.rows[0].seed, 3);
        let expected =
            ["overlay is not promised and not counted: no promise", "skipped for xfs: mkfs.xfs cannot be run"];
        assert_eq!(explored.left_out, expected);
    }

    #[test]
    fn options_have_values() {
        let parsed = |words: &[&str]| Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let options = parsed(&["--cuts", "500", "--setup", "xfs"]).unwrap();
        assert_eq!(options, Options { cuts: 500, seed: 0, setup: Some("xfs".to_owned()) });
        assert!(
            parsed(&["--cuts"]).is_err() && parsed(&["--cuts", "many"]).is_err() && parsed(&["--all", "1"]).is_err()
        );
    }
}
