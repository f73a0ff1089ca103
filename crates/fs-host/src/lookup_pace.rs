//! How long the kernel takes to look up names, so that an event loop can do it where that is quick.
//!
//! A name that the kernel has not in memory may have to be read from a disk, so a loop passes its lookup on. But the
//! name of a new file is never in memory, and in a directory that is, finding that out takes microseconds: less than
//! passing the request to another thread. So lookups are timed. While they are quick, loops wait for them; after a slow
//! one they pass them on again, until some thirty in a row were quick.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::volume::CacheKind;

/// Below this average an event loop looks names up itself.
const QUICK: Duration = Duration::from_micros(30);

/// The average at first.
const UNKNOWN: Duration = Duration::from_millis(1);

/// Each lookup moves the average by one part in this many of the difference.
const WEIGHT: u64 = 8;

/// The pace of lookups in an export.
#[derive(Debug)]
pub(crate) struct LookupPace {
    cache: CacheKind,
    average_ns: AtomicU64,
}

impl LookupPace {
    pub(crate) fn new(cache: CacheKind) -> LookupPace {
        LookupPace { cache, average_ns: AtomicU64::new(nanoseconds(UNKNOWN)) }
    }

    /// Whether a loop may look up any name. Of a file system that may ask another machine no pace is known.
    pub(crate) fn is_quick(&self) -> bool {
        match self.cache {
            CacheKind::Memory => true,
            CacheKind::Pages => self.average_ns.load(Ordering::Relaxed) < nanoseconds(QUICK),
            CacheKind::Unknown => false,
        }
    }

    /// Looks something up, and takes note of how long that took.
    pub(crate) fn time<T>(&self, look_up: impl FnOnce() -> T) -> T {
        if self.cache != CacheKind::Pages {
            return look_up();
        }
        let start = Instant::now();
        let found = look_up();
        self.note(start.elapsed());
        found
    }

    /// Threads that note at the same time may lose one of their lookups.
    fn note(&self, took: Duration) {
        let average_ns = self.average_ns.load(Ordering::Relaxed);
        if took < QUICK && average_ns < nanoseconds(QUICK) / 2 {
            // Nothing changes, and the number need not move between processors.
            return;
        }
        let next_ns = average_ns - average_ns / WEIGHT + nanoseconds(took) / WEIGHT;
        self.average_ns.store(next_ns, Ordering::Relaxed);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / WEIGHT)
}

#[cfg(test)]
mod tests {
    use vfs::{Context, Error, FileSystem, Name, Place};

    use super::*;
    use crate::{HostFs, HostOptions};

    const WARM: Duration = Duration::from_micros(3);

    fn after(pace: &LookupPace, count: usize) -> bool {
        (0..count).for_each(|_| pace.note(WARM));
        pace.is_quick()
    }

    #[test]
    fn lookups_are_quick_after_some_thirty_that_were() {
        let pace = LookupPace::new(CacheKind::Pages);
        assert!(!pace.is_quick() && !after(&pace, 20) && after(&pace, 20));
    }

    #[test]
    fn one_read_of_a_disk_makes_lookups_slow_until_many_were_quick() {
        let pace = LookupPace::new(CacheKind::Pages);
        assert!(after(&pace, 10_000));
        pace.note(Duration::from_millis(5));
        assert!(!pace.is_quick() && !after(&pace, 20) && after(&pace, 20));
    }

    #[test]
    fn loop_looks_a_new_name_up_itself_while_lookups_are_quick() {
        let folder = std::env::temp_dir().join(format!("wharf-pace-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("export")).unwrap();
        let options = HostOptions { state_dir: Some(folder.join("state")), ..HostOptions::default() };
        let mut fs = HostFs::open(&folder.join("export"), options).unwrap();
        fs.lookup_pace = LookupPace::new(CacheKind::Pages);
        let look_up = |name: &[u8]| {
            let place = Place { dir: fs.root(), name: Name::new(name).unwrap() };
            fs.lookup(&Context { may_block: false, ..Context::ROOT }, place)
        };
        assert!(matches!(look_up(b"first"), Err(Error::WouldBlock)));
        assert!(after(&fs.lookup_pace, 100));
        assert!(matches!(look_up(b"second"), Err(Error::NoEntry)));
        fs.lookup_pace.note(Duration::from_millis(5));
        assert!(matches!(look_up(b"third"), Err(Error::WouldBlock)));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn memory_is_always_quick_and_another_machine_never() {
        for (cache, is_quick) in [(CacheKind::Memory, true), (CacheKind::Unknown, false)] {
            let pace = LookupPace::new(cache);
            (0..100).for_each(|_| pace.time(|| ()));
            assert_eq!(pace.is_quick(), is_quick);
        }
    }
}
