//! A thread for periodic work of the server.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::grace_log::GraceLog;
use crate::service::Programs;

/// How often the server looks for expired state, such as leases.
const TICK: Duration = Duration::from_secs(1);
/// The number of ticks between clean-ups. Whatever was unused for one to two of these periods is dropped.
const TICKS_PER_TIDYING: u64 = 10;

/// The upkeep thread.
pub(crate) struct Upkeep {
    running: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl Upkeep {
    /// Starts the thread.
    pub(crate) fn start(
        programs: Arc<Programs>,
        net: net::ServerHandle,
        mut grace: GraceLog,
    ) -> std::io::Result<Upkeep> {
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
            programs.server.release_records(programs.now());
        };
        let thread = thread::Builder::new().name("upkeep".to_owned()).spawn(run)?;
        Ok(Upkeep { running: Mutex::new(Some((stop, thread))) })
    }

    /// Stops the thread after its last work, and waits for it.
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
