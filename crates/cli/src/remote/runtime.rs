use std::future::Future;
use std::time::Duration;

use crate::failure::Failure;
use crate::interruption;

/// The time limit for ending sessions at exit.
pub const FAREWELL: Duration = Duration::from_secs(3);

/// Runs a command on this thread until it ends or is interrupted.
pub fn run<F: Future<Output = Result<(), Failure>>>(work: F) -> Result<(), Failure> {
    let interrupted = interruption::listen_briefly(2 * FAREWELL)?;
    run_to_its_end(async {
        tokio::select! {
            result = work => result,
            Ok(signal) = interrupted => Err(Failure::Ended { signal }),
        }
    })
}

/// Runs a command that handles interruptions itself. In any case it then ends the sessions with NFSv4 servers.
pub fn run_to_its_end<F: Future<Output = Result<(), Failure>>>(work: F) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| Failure::System { action: "start the client's runtime", source })?.block_on(async {
        let result = work.await;
        client::leave_servers(FAREWELL).await;
        result
    })
}
