//! The end of a job before its time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ends jobs before their time: what was measured until then is their outcome. Clones end the same jobs.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

/// Two are the same when they are one.
impl PartialEq for Stop {
    fn eq(&self, other: &Stop) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Stop {
    /// Ends the jobs that have this. What is outstanding is waited for.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the jobs are to end.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
