//! Time that passes while threads work that the runtime knows nothing of. The runtime's own way, to go on to the next
//! moment at which something happens when its tasks wait, would let hours pass while a thread thinks.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// How far the time goes on at once.
const STEP: Duration = Duration::from_millis(5);
/// How often others are let go first between two steps.
const TURNS: u32 = 4;

/// Holds the time in its pace until it is dropped.
pub struct Pace {
    _end: Sender<()>,
    steps: tokio::task::JoinHandle<()>,
}

impl Drop for Pace {
    fn drop(&mut self) {
        self.steps.abort();
    }
}

/// Lets the time go on by steps.
pub fn begin() -> Pace {
    let (end, ended) = channel();
    // While such a task runs the runtime does not go on with the time by itself.
    tokio::task::spawn_blocking(move || ended.recv());
    let steps = tokio::spawn(async {
        loop {
            for _ in 0..TURNS {
                tokio::task::yield_now().await;
            }
            std::thread::yield_now();
            tokio::time::advance(STEP).await;
        }
    });
    Pace { _end: end, steps }
}
