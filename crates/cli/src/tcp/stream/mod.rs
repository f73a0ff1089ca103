//! `wharf tcp stream`: a stream to another host, or from the sender in user space to this machine's kernel.

mod flags;
mod host;
mod shown;
mod user;

use crate::failure::Failure;
pub use flags::{Flags, connections, parse_memory, parse_percent, parse_time};

/// Runs the streams one after the other. Ctrl-C ends the current run and shows all results.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    match &flags.host {
        Some(host) => host::run(flags, host),
        None => user::run(flags),
    }
}
