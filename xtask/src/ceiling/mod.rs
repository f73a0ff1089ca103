//! `cargo xtask ceiling`: what the machine can do at most, without a server. `cargo xtask peers` runs this beside the servers.
//!
//! - `respond` answers READs over TCP without understanding them.
//! - `list` makes the system calls that a READDIRPLUS needs, and no more.

mod batch;
mod canned;
mod connection;
mod list;
mod responder;
mod source;

use std::str::FromStr;

use crate::{Failure, Outcome};
pub use responder::Responder;
pub use source::Way;

/// Runs one of the two until it is done, or for ever.
pub fn run(arguments: &[String]) -> Outcome {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["respond", way, port, file, block_bytes] => {
            let way = Way::parse(way)?;
            let mut responder = Responder::bind(way, number(port)?, file.as_ref(), number(block_bytes)?)?;
            Err(responder.run())
        }
        ["list", directory, seconds] => {
            let found = list::run(directory.as_ref(), number(seconds)?)?;
            println!("{found}");
            Ok(())
        }
        _ => Err(Failure::Usage(
            "ceiling respond memory|copy|sendfile PORT FILE BYTES, or ceiling list DIRECTORY SECONDS".to_owned(),
        )),
    }
}

fn number<T: FromStr>(text: &str) -> Outcome<T> {
    text.parse().map_err(|_| Failure::Usage(format!("{text} is no number that can be used here")))
}
