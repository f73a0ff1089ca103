//! When the machine stops: after so many calls of its file system and its log's device.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

#[derive(Clone, Default)]
pub struct Power(Arc<AtomicI64>);

impl Power {
    /// Lasts for so many calls.
    pub fn lasting(calls: i64) -> Power {
        Power(Arc::new(AtomicI64::new(calls)))
    }

    /// Counts a call; an error when the machine has stopped.
    pub fn call(&self) -> io::Result<()> {
        if self.0.fetch_sub(1, Ordering::Relaxed) > 0 {
            Ok(())
        } else {
            Err(io::Error::other("the machine has stopped"))
        }
    }

    pub fn is_off(&self) -> bool {
        self.0.load(Ordering::Relaxed) <= 0
    }
}
