//! Handles Ctrl-C for commands that clean up or print results before they end.

use std::thread;
use std::time::{Duration, Instant};

use lab::leftovers::{self, Leftover};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::oneshot;

use crate::ending::end_by;
use crate::failure::Failure;

/// Returns a receiver for the first SIGINT or SIGTERM. From now on this does not end the process. A second one does at
/// once.
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

/// Signals that follow each other so fast are one interruption: timeout(1) sends one to its command, and then one to
/// the command's group.
const ONE_INTERRUPTION: Duration = Duration::from_millis(500);

/// Ends the process without clean-up, and names what is left.
fn end_at_once(signal: i32) {
    if let Some(left) = left_behind() {
        eprintln!("wharf: interrupted again; {left}");
    }
    end_by(signal);
}

/// What the lab made and has not removed, and the commands that remove it, if there is something.
pub fn left_behind() -> Option<String> {
    let left = leftovers::all();
    let one = |leftover: &Leftover| format!("{leftover} is left: `{}` removes it", leftover.remedy());
    (!left.is_empty()).then(|| left.iter().map(one).collect::<Vec<_>>().join("; "))
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
        let first = Instant::now();
        arrived.find(|_| first.elapsed() >= ONE_INTERRUPTION).map(end_at_once)
    };
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(receiver)
}
