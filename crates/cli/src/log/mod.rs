//! `wharf log`: what a write log holds, whether it is whole, and how to do without it.

mod check;
mod drain;
mod examined;
mod info;
mod record;
mod replay;

use clap::{Args, Subcommand};

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
    /// Show the size of a write log, whose it is, and which records it keeps.
    Info(examined::Flags),
    /// Read all of a write log, and name what is damaged and where.
    Check(examined::Flags),
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
