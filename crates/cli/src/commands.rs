use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::serve;

/// NFS server, NFS client and performance lab in one program.
#[derive(Debug, Parser)]
#[command(name = "wharf", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Exit status: 0 when all was done, 1 when something failed, 2 when the command line is wrong.")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Serve(Box<serve::Flags>),
}

impl Command {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Command::Serve(flags) => serve::run(&flags),
        }
    }
}
