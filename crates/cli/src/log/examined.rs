use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use stable::{Check, FileDevice, Log};

use super::record::LogRecord;
use crate::failure::Failure;
use crate::output::Output;

/// A log that is only read.
#[derive(Debug, Args)]
pub struct Flags {
    /// The log: a file or a block device.
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Reads a log to its end, and prints it with `show` or as JSON.
pub fn print(flags: &Flags, show: impl FnOnce(&mut Output, &Check) -> Result<(), Failure>) -> Result<Check, Failure> {
    let check = Log::check(Arc::new(FileDevice::open_read_only(&flags.path)?))?;
    let mut output = Output::new();
    if flags.json {
        output.json(&LogRecord::new(&flags.path, &check))?;
    } else {
        show(&mut output, &check)?;
    }
    output.finish()?;
    Ok(check)
}
