use std::io::Write;
use std::path::Path;

use clap::Args;
use report::units;
use stable::{Check, LogSite, SetAside};
use vfs::{counted, quoted};

use super::examined::{self, ExaminedLog};
use super::record::LogRecord;
use super::state_dir::StateDirFlag;
use crate::failure::Failure;
use crate::output::Output;

/// Show the size of a write log, its server's exports, the number of records, and the changes that replays could not
/// make.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(flatten)]
    log: ExaminedLog,
    #[command(flatten)]
    state_dir: StateDirFlag,
}

/// Shows it.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let (path, state_dir) = (&flags.log.path, flags.state_dir.path()?);
    let check = examined::read(&flags.log)?;
    let changes = state_dir.exists().then(|| stable::changes_set_aside(&state_dir)).transpose()?;
    let set_aside = stable::set_aside_path(&state_dir);
    let mut output = Output::new();
    if flags.log.json {
        output.json(&LogRecord::new(path, &check).with_set_aside(&set_aside, changes))?;
    } else {
        show(&mut output, path, &check)?;
        match changes {
            Some(changes) => show_set_aside(&mut output, &set_aside, &changes)?,
            None => writeln!(
                output,
                "  Aside: unknown: there is no state directory {}; name that of the log's server with --state-dir DIR",
                quoted(&state_dir)
            )?,
        }
    }
    Ok(output.finish()?)
}

fn show(output: &mut Output, path: &Path, check: &Check) -> Result<(), Failure> {
    let exports = stable::owners_exports(&check.owner).unwrap_or_default();
    let bytes = |bytes: u64| units::binary_bytes(bytes as f64);
    writeln!(output, "    Log: {}", quoted(path))?;
    writeln!(output, "   Size: {}, used: {}", bytes(check.size_bytes), bytes(check.used_bytes))?;
    for dir in exports {
        writeln!(output, " Export: {}", quoted(dir))?;
    }
    let batches = counted(check.batches, "batch", "batches");
    writeln!(output, "Records: {} of {} in {batches}", check.records, bytes(check.record_bytes))?;
    if let Some(age) = check.oldest_age {
        writeln!(output, " Oldest: {} ago", units::duration(age))?;
    }
    writeln!(output, "  State: {}", state(path, check))?;
    Ok(())
}

/// Shows the changes that replays did not make, and what to do with them.
fn show_set_aside(output: &mut Output, path: &Path, changes: &[SetAside]) -> Result<(), Failure> {
    let path = quoted(path);
    if changes.is_empty() {
        writeln!(output, "  Aside: no changes in {path}")?;
        return Ok(());
    }
    let count = counted(changes.len() as u64, "change", "changes");
    writeln!(output, "  Aside: {count} that a replay could not make, in {path}")?;
    for SetAside { export, file, change, kept_as, reason, remedy, data_bytes } in changes {
        writeln!(output, "\n Change: {change}\n   File: {file}, in {export}")?;
        if let Some(path) = kept_as {
            writeln!(output, "Kept as: {path}, in {export}")?;
        }
        if *data_bytes > 0 {
            writeln!(output, "   Data: {}, in hex in {path}", counted(*data_bytes, "byte", "bytes"))?;
        }
        writeln!(output, " Reason: {reason}\n Remedy: {remedy}")?;
    }
    writeln!(output, "\nDelete {path} when nothing in it is needed any more.")?;
    Ok(())
}

fn state(path: &Path, check: &Check) -> String {
    let mut state = match (check.damages.len(), check.records) {
        (0, 0) => "clean: no record is needed".to_owned(),
        (0, _) => "whole, with records that are still needed".to_owned(),
        (count, _) => {
            format!("damaged in {}: {} shows where", counted(count as u64, "place", "places"), LogSite::check(path))
        }
    };
    if check.has_torn_end {
        state += "; the last batch is incomplete: its write was interrupted before it was acknowledged, or the device has \
                  lost or changed it since";
    }
    if check.has_damaged_header {
        state += "; one of the two headers is damaged, and the other one is used";
    }
    state
}
