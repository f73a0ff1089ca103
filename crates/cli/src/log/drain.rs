use std::io::Write;

use clap::Args;

use super::replay::Site;
use crate::failure::Failure;
use crate::output::Output;

/// Flush all changes in a write log to storage and empty it, so that the server can run without it.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(flatten)]
    site: Site,
    /// Drop the changes instead, and print how many were lost per export.
    #[arg(long)]
    discard: bool,
}

/// Empties the log.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    if !flags.discard {
        return flags.site.empty(false);
    }
    let (log, _) = flags.site.open(false)?;
    let kept = log.kept()?;
    log.discard()?;
    let mut output = Output::new();
    for (dir, records) in kept.into_iter().filter(|(_, records)| *records > 0) {
        writeln!(output, "dropped {records} changes of {dir}")?;
    }
    Ok(output.finish()?)
}
