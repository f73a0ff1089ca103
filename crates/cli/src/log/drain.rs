use std::io::Write;

use clap::Args;

use super::replay::Site;
use crate::failure::Failure;
use crate::output::Output;

/// Bring everything that is only in a write log to storage, and empty it: then the server can do without it.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(flatten)]
    site: Site,
    /// Drop the changes instead, and name what is lost.
    #[arg(long)]
    discard: bool,
}

/// Empties it.
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
