//! Ctrl-C for commands that have something to clean up or to say before they end.

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
    let failed = |source| Failure::System { action: "receive signals", source };
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let (sender, receiver) = oneshot::channel();
    let wait = move || {
        let mut arrived = signals.forever();
        // Whoever listened may have ended by itself meanwhile.
        arrived.next().map(|signal| sender.send(signal));
        // Who asks a second time does not want to wait for the cleaning up.
        arrived.next().map(end_by)
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(receiver)
}
