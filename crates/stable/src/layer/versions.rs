//! What clients compare with their caches: change attributes, ctimes and the verifier of directory cookies.
//!
//! A client may have cached data that were never stable, and that a power failure undid. Storage may have kept the
//! file's times all the same, or the clock may have been set back since, so that the file looks unchanged. Entries that
//! a replay made again may have other cookies. So all of these values differ after each replay.

use std::sync::atomic::{AtomicU64, Ordering};

use vfs::{Attributes, Entry, Timestamp};

/// How many replays the export ever had, in the state directory.
#[derive(Default)]
pub(crate) struct Versions(AtomicU64);

/// Spreads the number of replays over a change attribute.
const CHANGE_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Clients of versions 2 and 3 compare ctimes, in version 2 with microseconds. No file system has ticks of this length.
const TIME_STEP_NS: u64 = 1_000_003;

const NS_PER_S: u64 = 1_000_000_000;

impl Versions {
    /// Another replay was recorded.
    pub(crate) fn count_replay(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn cookie_verifier(&self, inner: u64) -> u64 {
        inner.wrapping_add(self.replays())
    }

    pub(super) fn entry(&self, entry: Entry) -> Entry {
        Entry { attributes: self.attributes(entry.attributes), ..entry }
    }

    pub(super) fn attributes(&self, inner: Attributes) -> Attributes {
        match self.replays() {
            0 => inner,
            replays => Attributes {
                change: inner.change.wrapping_add(replays.wrapping_mul(CHANGE_STEP)),
                changed: later(inner.changed, replays.wrapping_mul(TIME_STEP_NS)),
                ..inner
            },
        }
    }

    fn replays(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn later(time: Timestamp, by_ns: u64) -> Timestamp {
    let nanoseconds = u64::from(time.nanoseconds) + by_ns % NS_PER_S;
    Timestamp {
        seconds: time.seconds.saturating_add_unsigned(by_ns / NS_PER_S + nanoseconds / NS_PER_S),
        nanoseconds: (nanoseconds % NS_PER_S) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_times_carry_into_seconds() {
        let time = Timestamp { seconds: 5, nanoseconds: 999_999_999 };
        assert_eq!(later(time, 2 * NS_PER_S + 1), Timestamp { seconds: 8, nanoseconds: 0 });
        assert_eq!(later(time, 0), time);
    }
}
