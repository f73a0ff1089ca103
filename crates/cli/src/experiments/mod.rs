//! `wharf lab`: experiments that hold ways to do something against each other.

mod figures;
mod folder;
mod read_ahead;
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
    ReadAhead(read_ahead::Flags),
    ReplyPath(reply_path::Flags),
}

/// Does one.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    match &flags.experiment {
        Experiment::ReadAhead(flags) => read_ahead::run(flags),
        Experiment::ReplyPath(flags) => reply_path::run(flags),
    }
}

fn parse_block(text: &str) -> Result<u32, String> {
    let bytes = config::parse_size(text).map_err(|error| error.to_string())?;
    u32::try_from(bytes).map_err(|_| "no READ is that large".to_owned())
}
