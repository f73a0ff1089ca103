//! Errors of data that was written late by an open file, for who writes or syncs that next.

use std::sync::{Mutex, PoisonError};

use vfs::{Error, Result};

/// The error of a late write that was met where it may not be told: it is kept for the next write or sync of whoever wrote.
#[derive(Debug, Default)]
pub(super) struct LateError(Mutex<Option<Error>>);

impl LateError {
    /// Keeps the error of `result`, if it has one and none is kept yet.
    pub(super) fn keep(&self, result: Result<()>) {
        if let Err(error) = result {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Tells the error that is kept, once.
    pub(super) fn tell(&self) -> Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_error_is_told_once() {
        let late = LateError::default();
        assert!(late.tell().is_ok());
        late.keep(Err(Error::NoSpace));
        late.keep(Ok(()));
        late.keep(Err(Error::Stale));
        assert!(matches!(late.tell(), Err(Error::NoSpace)));
        assert!(late.tell().is_ok());
    }
}
