use std::future::Future;

use crate::failure::Failure;

/// Runs what a command does, on this thread.
pub fn run<F: Future<Output = Result<(), Failure>>>(work: F) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| Failure::System { action: "start the client's runtime", source })?.block_on(work)
}
