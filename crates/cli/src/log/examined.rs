use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use stable::{Check, FileDevice, Log};

use crate::failure::Failure;

/// A log that is only read.
#[derive(Debug, Args)]
pub struct ExaminedLog {
    /// The log: a file or a block device.
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Reads a log to its end.
pub fn read(flags: &ExaminedLog) -> Result<Check, Failure> {
    Ok(Log::check(Arc::new(FileDevice::open_read_only(&flags.path)?))?)
}
