//! A thread that lets the server tidy up every few seconds.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use server::Server;

/// How often the server tidies up: what nobody has used for one to two of these is let go.
const PERIOD: Duration = Duration::from_secs(10);

/// The thread, until it is stopped.
pub(crate) struct Upkeep {
    running: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl Upkeep {
    /// Starts the thread.
    pub(crate) fn start(server: Arc<Server>) -> std::io::Result<Upkeep> {
        let (stop, stopped) = mpsc::channel();
        let run = move || {
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                server.maintain();
            }
        };
        let thread = thread::Builder::new().name("upkeep".to_owned()).spawn(run)?;
        Ok(Upkeep { running: Mutex::new(Some((stop, thread))) })
    }

    /// Ends the thread and waits for it.
    pub(crate) fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((stop, thread)) = running {
            drop(stop);
            if thread.join().is_err() {
                tracing::error!("the upkeep thread ended with a panic");
            }
        }
    }
}
