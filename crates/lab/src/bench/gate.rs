//! What a job waits for before its start.

use std::fmt;
use std::sync::Arc;

/// Called once when all connections of a job are made. The job starts when it returns true, and is given up when it
/// returns false.
#[derive(Clone)]
pub struct Gate(pub Arc<dyn Fn() -> bool + Send + Sync>);

/// Two are the same when they are one.
impl PartialEq for Gate {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}
