//! Scripts that print a line for each check.

use std::process::Command;

use super::tally::{Counts, ScriptChecks};
use crate::Outcome;

/// Runs each script as `command` says, and counts its checks. A script that fails without saying which check did is one
/// that failed.
pub fn run(scripts: &[&str], command: impl Fn(&str) -> Command) -> Outcome<Counts> {
    let mut reader = ScriptChecks::default();
    let mut silent = Vec::new();
    for script in scripts {
        let failed_before = reader.counts().failed;
        let is_success = super::stream(command(script), |line| {
            reader.take(line);
            true
        })?;
        if !is_success && reader.counts().failed == failed_before {
            silent.push(script);
        }
    }
    let mut counts = reader.counts();
    for script in silent {
        println!("FAILED: {script} ended with an error that no check reported");
        counts.failed += 1;
    }
    Ok(counts)
}
