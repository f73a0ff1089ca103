//! What a user learns of a job while it runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use measure::Work;
use measure::record::Direction;

/// Somebody who wants to know of something, as soon as it is there.
pub struct Observer<T>(pub Arc<dyn Fn(&T) + Send + Sync>);

impl<T> Clone for Observer<T> {
    fn clone(&self) -> Self {
        Observer(Arc::clone(&self.0))
    }
}

/// Two are the same when they are one.
impl<T> PartialEq for Observer<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> fmt::Debug for Observer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// How far a job is.
#[derive(Debug, Clone)]
pub struct Progress {
    /// What the user calls the job.
    pub job: String,
    /// How much of the measurement is done, from 0 to 1.
    pub done: f64,
    /// How long the rest takes.
    pub left: Duration,
    /// What was done since the last time, and in how long.
    pub latest: Vec<(Direction, Work, Duration)>,
}
