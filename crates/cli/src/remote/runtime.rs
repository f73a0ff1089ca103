use std::future::Future;
use std::time::Duration;

use crate::failure::Failure;
use crate::interruption;

/// How long servers may take when the program leaves them.
pub const FAREWELL: Duration = Duration::from_secs(3);

/// Runs what a command does, on this thread, until it ends or is interrupted.
pub fn run<F: Future<Output = Result<(), Failure>>>(work: F) -> Result<(), Failure> {
    let interrupted = interruption::listen_briefly(2 * FAREWELL)?;
    run_to_its_end(async {
        tokio::select! {
            result = work => result,
            Ok(signal) = interrupted => Err(Failure::Ended { signal }),
        }
    })
}

/// Runs what a command does that cleans up by itself when it is interrupted. However it ends, the program leaves its servers of
/// NFSv4, which need not remember it.
pub fn run_to_its_end<F: Future<Output = Result<(), Failure>>>(work: F) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| Failure::System { action: "start the client's runtime", source })?.block_on(async {
        let result = work.await;
        client::leave_servers(FAREWELL).await;
        result
    })
}
