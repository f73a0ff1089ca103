//! `wharf log`: shows, checks and empties a write log.

mod adopt;
mod check;
mod drain;
mod examined;
mod info;
mod record;
mod replay;
mod state_dir;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Show, check and empty the write log of a stopped server.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(subcommand)]
    action: Action,
}

/// What to do with a log.
#[derive(Debug, Subcommand)]
enum Action {
    Info(info::Flags),
    /// Read a whole write log, and report damaged parts.
    Check(examined::ExaminedLog),
    Replay(replay::Flags),
    Drain(drain::Flags),
    Adopt(adopt::Flags),
}

/// Runs the command.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    match &flags.action {
        Action::Info(flags) => info::run(flags),
        Action::Check(flags) => check::run(flags),
        Action::Replay(flags) => replay::run(flags),
        Action::Drain(flags) => drain::run(flags),
        Action::Adopt(flags) => adopt::run(flags),
    }
}
