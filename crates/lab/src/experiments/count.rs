//! The instructions of a server for a READ.

use crate::contender::Server;
use crate::engine::PassError;

/// The figure.
pub(super) const INSTRUCTIONS: &str = "server instructions";

/// Why they are left out where nothing counts them.
pub(super) const NO_COUNTER: &str =
    "instructions: perf has no counters here, and valgrind, whose callgrind counts them, is not installed";

/// Counts the instructions of a server for a READ, outside of the kernel, and ends it. `read` reads files to their end,
/// so that no READ ahead is in flight when the counter stops, and returns how many READs it made.
pub(super) fn per_read(server: Server, read: impl Fn(&Server) -> Result<u64, PassError>) -> Result<f64, PassError> {
    // What a server does once, it has done then.
    read(&server)?;
    server.count(true)?;
    let reads = read(&server)?;
    server.count(false)?;
    Ok(server.instructions()? as f64 / reads as f64)
}
