//! The end of a job before its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::Error;

/// Ends jobs before their time: what was measured until then is their outcome. Clones end the same jobs.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Stopping>);

#[derive(Debug, Default)]
struct Stopping {
    is_stopped: AtomicBool,
    changed: Notify,
}

/// Two are the same when they are one.
impl PartialEq for Stop {
    fn eq(&self, other: &Stop) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Stop {
    /// How long what is outstanding is waited for.
    pub(crate) const TIMEOUT: Duration = Duration::from_secs(2);

    /// Ends the jobs that have this. What is outstanding is waited for, unless the server is silent.
    pub fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::SeqCst);
        self.0.changed.notify_waiters();
    }

    /// Whether the jobs are to end.
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped.load(Ordering::SeqCst)
    }

    /// Fails when the jobs are to end, which nothing can be measured for any more.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Ends when the jobs have been stopped for as long as what is outstanding is waited for.
    pub(crate) async fn timeout(&self) {
        let changed = self.0.changed.notified();
        // Whoever stops them after this has the line above notified.
        if !self.is_stopped() {
            changed.await;
        }
        tokio::time::sleep(Stop::TIMEOUT).await;
    }
}
