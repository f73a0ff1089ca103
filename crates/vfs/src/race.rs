//! Retries operations on names that other processes create and remove concurrently.

use std::io;

use crate::Error;

/// How often an operation is retried before it fails temporarily. Loops may be nested: a higher limit would delay an
/// event loop.
const MAX_ATTEMPTS: u32 = 64;

/// Each retry waits this many spins longer than the one before, at the end some microseconds. Otherwise two threads
/// that take the lock of one directory in turn stay in step, and one always loses.
const SPINS: u32 = 32;

/// Repeats `attempt` while it returns `None`, because another process created or removed the name between two lookups.
///
/// # Errors
/// Those of `attempt`; [`Error::TryLater`] after too many attempts.
pub fn until_won<T, E: From<Error>>(mut attempt: impl FnMut() -> Result<Option<T>, E>) -> Result<T, E> {
    for number in 0..MAX_ATTEMPTS {
        if let Some(done) = attempt()? {
            return Ok(done);
        }
        (0..number * SPINS).for_each(|_| std::hint::spin_loop());
    }
    Err(Error::TryLater(io::Error::other("others keep making and removing this name")).into())
}

/// The result of an operation on a file that was just looked up, or `None` if the file was removed in between.
///
/// # Errors
/// Those of `done`, but for [`Error::NoEntry`] and [`Error::Stale`].
pub fn unless_removed<T>(done: crate::Result<T>) -> crate::Result<Option<T>> {
    match done {
        Err(Error::NoEntry | Error::Stale) => Ok(None),
        done => done.map(Some),
    }
}
