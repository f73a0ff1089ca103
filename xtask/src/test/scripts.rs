//! Scripts that print a line for each check.

use std::process::Command;

use super::tally::{Counts, ScriptChecks};
use crate::{Outcome, command};

/// Runs a script, hands each line of its output to `show`, and counts its checks. A script that fails without saying
/// which check did is one that failed.
pub fn run(script: &str, command: Command, mut show: impl FnMut(&str)) -> Outcome<Counts> {
    let mut reader = ScriptChecks::default();
    let is_success = command::stream(command, |line| {
        reader.take(line);
        show(line);
    })?;
    let mut counts = reader.into_counts();
    if !is_success && counts.failed == 0 {
        counts.fail(format!("FAILED: {script} ended with an error that no check reported"));
    }
    Ok(counts)
}
