use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::examine;
use super::record::LogRecord;
use crate::failure::Failure;
use crate::output::Output;

/// Read all of a write log, and name what is damaged and where.
#[derive(Debug, Args)]
pub struct Flags {
    /// The log: a file or a block device.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

/// Reads it.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let check = examine(&flags.path)?;
    let mut output = Output::new();
    if flags.json {
        output.json(&LogRecord::new(&flags.path, &check))?;
    } else if check.damages.is_empty() {
        let path = flags.path.display();
        writeln!(output, "{path}: {} records in {} batches, all of them whole", check.records, check.batches)?;
    }
    output.finish()?;
    let damages = check.damages.iter().map(|damage| Failure::LogDamage { path: flags.path.clone(), damage: *damage });
    Failure::if_any(damages.collect())
}
