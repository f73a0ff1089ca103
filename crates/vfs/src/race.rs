//! Names that others make and remove between two looks at them.

use std::io;

use crate::Error;

/// How often a call looks at a name again before the caller is told to try later. Loops may be nested: more would hold up
/// an event loop.
const MAX_ATTEMPTS: u32 = 64;

/// How much longer each attempt waits than the one before, in turns of an empty loop: some microseconds at the end. Two
/// threads that wait for the lock of one directory by turns keep step without that, and one always comes too late.
const SPINS: u32 = 32;

/// Repeats `attempt` while it returns `None`: then somebody else made or removed the name between two looks at it.
///
/// # Errors
/// Those of `attempt`; [`Error::TryLater`] when it never comes to an end.
pub fn until_won<T, E: From<Error>>(mut attempt: impl FnMut() -> Result<Option<T>, E>) -> Result<T, E> {
    for number in 0..MAX_ATTEMPTS {
        if let Some(done) = attempt()? {
            return Ok(done);
        }
        (0..number * SPINS).for_each(|_| std::hint::spin_loop());
    }
    Err(Error::TryLater(io::Error::other("others keep making and removing this name")).into())
}

/// What was done with a file that was found just before, or `None` when somebody else removed the file in between.
///
/// # Errors
/// Those of `done`, but for [`Error::NoEntry`] and [`Error::Stale`].
pub fn unless_removed<T>(done: crate::Result<T>) -> crate::Result<Option<T>> {
    match done {
        Err(Error::NoEntry | Error::Stale) => Ok(None),
        done => done.map(Some),
    }
}
