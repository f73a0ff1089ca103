//! Ctrl-C for commands that have something to clean up or to say before they end.

use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::oneshot;

use crate::ending::end_by;
use crate::failure::Failure;

/// What hears of the first Ctrl-C or request to end, and of which of the two it was. From here on neither ends the process
/// by itself.
///
/// # Errors
/// When signals cannot be received.
pub fn listen() -> Result<oneshot::Receiver<i32>, Failure> {
    listen_and(|_| {})
}

/// [`listen`] for commands that soon end then: the process ends after `most` in any case, such as when it waits for whoever reads
/// its output.
///
/// # Errors
/// When signals cannot be received.
pub fn listen_briefly(most: Duration) -> Result<oneshot::Receiver<i32>, Failure> {
    listen_and(move |signal| {
        let end = move || {
            thread::sleep(most);
            end_by(signal);
        };
        if thread::Builder::new().name("end".to_owned()).spawn(end).is_err() {
            end_by(signal);
        }
    })
}

fn listen_and(on_first: impl FnOnce(i32) + Send + 'static) -> Result<oneshot::Receiver<i32>, Failure> {
    let failed = |source| Failure::System { action: "receive signals", source };
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let (sender, receiver) = oneshot::channel();
    let wait = move || {
        let mut arrived = signals.forever();
        if let Some(signal) = arrived.next() {
            // Whoever listened may have ended by itself meanwhile.
            let _ = sender.send(signal);
            on_first(signal);
        }
        // Who asks a second time does not want to wait for the cleaning up.
        arrived.next().map(end_by)
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(receiver)
}
