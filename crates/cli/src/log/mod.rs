//! `wharf log`: what a write log holds, whether it is whole, and how to do without it.

mod check;
mod drain;
mod info;
mod record;
mod replay;

use std::path::Path;
use std::sync::Arc;

use clap::{Args, Subcommand};
use stable::{Check, FileDevice, Log};

use crate::failure::Failure;

/// Show, check and empty the write log of a server that is stopped.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(subcommand)]
    action: Action,
}

/// What is done with a log.
#[derive(Debug, Subcommand)]
enum Action {
    Info(info::Flags),
    Check(check::Flags),
    Replay(replay::Flags),
    Drain(drain::Flags),
}

/// Does it.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    match &flags.action {
        Action::Info(flags) => info::run(flags),
        Action::Check(flags) => check::run(flags),
        Action::Replay(flags) => replay::run(flags),
        Action::Drain(flags) => drain::run(flags),
    }
}

/// Reads a log to its end.
fn examine(path: &Path) -> Result<Check, Failure> {
    Ok(Log::check(Arc::new(FileDevice::open_read_only(path)?))?)
}
