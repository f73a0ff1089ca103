//! Errors of late writes, kept for the next write or sync.

use std::sync::{Mutex, PoisonError};

use vfs::{Error, Result};

/// The error of a late write that occurred where it cannot be returned; the next write or sync of the open file returns
/// it.
#[derive(Debug, Default)]
pub(super) struct LateError(Mutex<Option<Error>>);

impl LateError {
    /// Keeps the error of `result`, unless one is kept already.
    pub(super) fn keep(&self, result: Result<()>) {
        if let Err(error) = result {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Returns the kept error, once.
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
