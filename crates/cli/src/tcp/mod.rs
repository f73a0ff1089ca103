//! `wharf tcp`: how a TCP sender cuts its data into packets, and how fast it is.

mod both_ends;
mod ends;
mod listen;
mod model;
mod receive;
mod rr;
mod rule_name;
mod series;
mod stream;
mod trace;
mod watch;
mod wire;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// Examine how TCP senders cut data into packets, and measure streams and requests.
#[derive(Debug, Args)]
pub struct Flags {
    #[command(subcommand)]
    action: Action,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum Action {
    Trace(trace::Flags),
    Model(model::Flags),
    Stream(Box<stream::Flags>),
    Rr(rr::Flags),
    Listen(listen::Flags),
    Wire(wire::Flags),
    #[command(hide = true)]
    Receive(receive::Flags),
}

/// Runs the command.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    match &flags.action {
        Action::Trace(flags) => trace::run(flags),
        Action::Model(flags) => model::run(flags),
        Action::Stream(flags) => stream::run(flags),
        Action::Rr(flags) => rr::run(flags),
        Action::Listen(flags) => listen::run(flags),
        Action::Wire(flags) => wire::run(flags),
        Action::Receive(flags) => receive::run(flags),
    }
}
