//! `wharf tcp`: what a TCP sender hands to the network card, what of it is seen in packets, and how fast it goes.

mod both_ends;
mod ends;
mod listen;
mod model;
mod rr;
mod series;
mod stream;
mod trace;
mod watch;
mod wire;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Look at how TCP senders cut their data into packets, and measure streams and requests.
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
    Stream(Box<stream::Flags>),
    Rr(rr::Flags),
    Listen(listen::Flags),
    Wire(wire::Flags),
}

/// Does it.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    match &flags.action {
        Action::Trace(flags) => trace::run(flags),
        Action::Model(flags) => model::run(flags),
        Action::Stream(flags) => stream::run(flags),
        Action::Rr(flags) => rr::run(flags),
        Action::Listen(flags) => listen::run(flags),
        Action::Wire(flags) => wire::run(flags),
    }
}
