//! State of an open file, with a flag for lost parts that readers and writers can check without the lock.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// State that the server may lose in part for good.
pub(crate) trait Losable {
    /// Whether some of it is lost and not given up yet.
    fn has_losses(&self) -> bool;
}

/// A value behind a lock, with the result of [`Losable::has_losses`] at the last unlock.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    value: Mutex<T>,
    has_losses: AtomicBool,
}

impl<T: Losable> Kept<T> {
    pub(crate) fn new(value: T) -> Kept<T> {
        Kept { has_losses: AtomicBool::new(value.has_losses()), value: Mutex::new(value) }
    }

    pub(crate) fn lock(&self) -> Guard<'_, T> {
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        Guard { value, has_losses: &self.has_losses }
    }

    /// Whether the server has lost some of it, without taking the lock.
    pub(crate) fn has_losses(&self) -> bool {
        self.has_losses.load(Ordering::Acquire)
    }
}

/// The locked value.
pub(crate) struct Guard<'a, T: Losable> {
    value: MutexGuard<'a, T>,
    has_losses: &'a AtomicBool,
}

impl<T: Losable> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Losable> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Losable> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.has_losses.store(self.value.has_losses(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Losable for u32 {
        fn has_losses(&self) -> bool {
            *self > 0
        }
    }

    #[test]
    fn losses_are_seen_from_the_moment_on_that_they_are_noted_until_they_are_given_up() {
        let kept = Kept::new(0);
        *kept.lock() = 3;
        assert!(kept.has_losses());
        *kept.lock() -= 2;
        assert!(kept.has_losses());
        *kept.lock() -= 1;
        assert!(!kept.has_losses());
    }
}
