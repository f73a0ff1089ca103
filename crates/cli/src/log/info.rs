use std::io::Write;
use std::path::Path;

use report::units;
use stable::{Check, LogSite};
use vfs::quoted;

use super::examined::{self, Flags};
use crate::failure::Failure;
use crate::output::Output;

/// Shows it.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    examined::print(flags, |output, check| show(output, &flags.path, check))?;
    Ok(())
}

fn show(output: &mut Output, path: &Path, check: &Check) -> Result<(), Failure> {
    let exports = stable::owners_exports(&check.owner).unwrap_or_default();
    let bytes = |bytes: u64| units::binary_bytes(bytes as f64);
    writeln!(output, "    Log: {}", quoted(path))?;
    writeln!(output, "   Size: {}, used: {}", bytes(check.size_bytes), bytes(check.used_bytes))?;
    for dir in exports {
        writeln!(output, " Export: {}", quoted(dir))?;
    }
    writeln!(output, "Records: {} of {} in {} batches", check.records, bytes(check.record_bytes), check.batches)?;
    if let Some(age) = check.oldest_age {
        writeln!(output, " Oldest: {} ago", units::duration(age))?;
    }
    writeln!(output, "  State: {}", state(path, check))?;
    Ok(())
}

fn state(path: &Path, check: &Check) -> String {
    let mut state = match (check.damages.len(), check.records) {
        (0, 0) => "clean: no record is needed".to_owned(),
        (0, _) => "whole, with records that are still needed".to_owned(),
        (count, _) => format!("damaged in {count} places: {} names them", LogSite::check(path)),
    };
    if check.has_torn_end {
        state += "; the last write was interrupted, and was never acknowledged";
    }
    if check.has_damaged_header {
        state += "; one of the two headers is damaged, and the other one is used";
    }
    state
}
