//! Handles Ctrl-C for commands that clean up or print results before they end.

use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::oneshot;

use crate::ending::end_by;
use crate::failure::Failure;

/// Returns a receiver for the first SIGINT or SIGTERM. From now on these do not end the process.
///
/// # Errors
/// When signals cannot be received.
pub fn listen() -> Result<oneshot::Receiver<i32>, Failure> {
    listen_and(|_| {})
}

/// [`listen`] for commands that end soon afterwards: the process ends after `most` in any case, for example if a reader
/// of its output blocks it.
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
            // The receiver may have ended meanwhile.
            let _ = sender.send(signal);
            on_first(signal);
        }
        // A second signal ends the process without clean-up.
        arrived.next().map(end_by)
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(receiver)
}
