use std::future::Future;
use std::io::{self, Write};
use std::time::Duration;

use tracing::level_filters::LevelFilter;

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

/// Prints the client's warnings, such as why it waits, to standard error.
fn print_warnings() {
    let begin = || {
        let mut stderr = io::stderr().lock();
        // If nobody reads standard error, nobody misses the line.
        let _ = stderr.write_all(b"wharf: ");
        stderr
    };
    let lines = tracing_subscriber::fmt().with_writer(begin).with_ansi(false).without_time();
    // It fails if this process logs already.
    let _ = lines.with_level(false).with_target(false).with_max_level(LevelFilter::WARN).try_init();
}

/// Runs a command that handles interruptions itself. In any case it then ends the sessions with NFSv4 servers.
pub fn run_to_its_end<F: Future<Output = Result<(), Failure>>>(work: F) -> Result<(), Failure> {
    print_warnings();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|source| Failure::System { action: "start the client's runtime", source })?.block_on(async {
        let result = work.await;
        client::leave_servers(FAREWELL).await;
        result
    })
}
