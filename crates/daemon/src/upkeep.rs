//! A thread that lets the server end what is over, and tidy up.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::grace_log::GraceLog;
use crate::service::Programs;

/// How often the server looks for what is over, such as leases.
const TICK: Duration = Duration::from_secs(1);
/// After how many ticks it tidies up: what nobody has used for one to two of these spans is let go.
const TICKS_PER_TIDYING: u64 = 10;

/// The thread, until it is stopped.
pub(crate) struct Upkeep {
    running: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl Upkeep {
    /// Starts the thread.
    pub(crate) fn start(programs: Arc<Programs>, net: net::Handle, mut grace: GraceLog) -> std::io::Result<Upkeep> {
        let (stop, stopped) = mpsc::channel();
        let run = move || {
            let mut ticks = 0;
            grace.look(&programs.server, programs.now());
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                programs.tick();
                grace.look(&programs.server, programs.now());
                ticks += 1;
                if ticks % TICKS_PER_TIDYING == 0 {
                    programs.server.maintain();
                    net.release_memory();
                }
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
                tracing::error!("the upkeep thread panicked");
            }
        }
    }
}
