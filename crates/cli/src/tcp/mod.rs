//! `wharf tcp`: what a TCP sender hands to the network card, and what of it is seen in packets.

mod model;
mod stream;
mod trace;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Look at how TCP senders cut their data into packets.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(subcommand)]
    action: Action,
}

/// What is done.
#[derive(Debug, Subcommand)]
enum Action {
    Trace(trace::Flags),
    Model(model::Flags),
    Stream(stream::Flags),
}

/// Does it.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    match &flags.action {
        Action::Trace(flags) => trace::run(flags),
        Action::Model(flags) => model::run(flags),
        Action::Stream(flags) => stream::run(flags),
    }
}
