//! `wharf lab`: experiments that hold ways to do something against each other.

mod reply_path;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Hold ways to do something against each other, on this machine.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(subcommand)]
    experiment: Experiment,
}

/// The experiments.
#[derive(Debug, Subcommand)]
enum Experiment {
    ReplyPath(reply_path::Flags),
}

/// Does one.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    match &flags.experiment {
        Experiment::ReplyPath(flags) => reply_path::run(flags),
    }
}
