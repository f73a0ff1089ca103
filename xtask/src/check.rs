//! `cargo xtask check`: everything that is found without running the program.

use std::path::Path;

use crate::{Failure, Outcome, arrows, circles, command, source, words};

/// A check and its name.
struct Check {
    name: &'static str,
    run: fn(&Path) -> Outcome,
}

const CHECKS: [Check; 7] = [
    Check { name: "arrows", run: arrows::run },
    Check { name: "source", run: source::run },
    Check { name: "circles", run: circles::run },
    Check { name: "words", run: words::run },
    Check { name: "format", run: format },
    Check { name: "clippy", run: clippy },
    Check { name: "docs", run: docs },
];

/// Runs all checks, also after one has failed, so that one run shows everything.
pub fn run(root: &Path) -> Outcome {
    let mut failed = 0;
    for check in CHECKS {
        if let Err(failure) = (check.run)(root) {
            eprintln!("check {}: {failure}", check.name);
            failed += 1;
        }
    }
    if failed == 0 { Ok(()) } else { Err(Failure::Broken { count: failed, what: "checks failed" }) }
}

fn format(root: &Path) -> Outcome {
    command::run(command::cargo(root, &["fmt", "--all", "--check"]))
}

fn clippy(root: &Path) -> Outcome {
    let arguments =
        ["clippy", "--quiet", "--workspace", "--all-targets", "--keep-going", "--locked", "--", "-D", "warnings"];
    command::run(command::cargo(root, &arguments))
}

fn docs(root: &Path) -> Outcome {
    let arguments = ["doc", "--quiet", "--workspace", "--no-deps", "--keep-going", "--locked"];
    let mut cargo = command::cargo(root, &arguments);
    cargo.env("RUSTDOCFLAGS", "-D warnings");
    command::run(cargo)
}
