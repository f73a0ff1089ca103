//! Which status flags of SEQUENCE were handled, and when.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the same flags are ignored after they were handled.
const MIN_PAUSE: Duration = Duration::from_secs(5);

/// Which flags were handled.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The flags of the last reply.
    pub(super) seen: AtomicU32,
    is_busy: AtomicBool,
    last: Mutex<Option<(u32, Instant)>>,
}

impl Watch {
    /// Whether to handle the flags `now`; after `true` the caller must call [`Watch::end`].
    pub(super) fn begin(&self, flags: u32, now: Instant) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = last.is_none_or(|(done, at)| flags & !done != 0 || now.saturating_duration_since(at) >= MIN_PAUSE);
        if !is_new || self.is_busy.swap(true, Ordering::Relaxed) {
            return false;
        }
        *last = Some((flags, now));
        true
    }

    pub(super) fn end(&self) {
        self.is_busy.store(false, Ordering::Relaxed);
    }

    /// Records that no flag is set.
    pub(super) fn clear(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_seen_to_once_and_again_when_there_are_others() {
        let (watch, now) = (Watch::default(), Instant::now());
        assert!(watch.begin(1, now));
        assert!(!watch.begin(3, now), "somebody is about it");
        watch.end();
        assert!(!watch.begin(1, now), "that was done");
        assert!(watch.begin(2, now));
        watch.end();
        watch.clear();
        assert!(watch.begin(2, now));
    }
}
