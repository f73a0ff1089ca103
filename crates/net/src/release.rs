//! When memory that is free is worth being given back to the system.
//!
//! The allocator keeps what was freed, in each thread's arena, whoever held it: connections, caches of the service, or
//! threads that ended. To give it back takes milliseconds, so it is done only when much may have become free.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// So many messages between two looks are a load.
const LOAD_MESSAGES: u64 = 1000;

/// How often memory is given back each time: what the loops keep for the next messages is freed only later.
const RELEASES: usize = 2;

/// So much more free memory than before is worth it, whoever freed it.
const FREED_BYTES: usize = 64 << 20;

/// What was seen at the last look.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    messages: AtomicU64,
    ended_threads: AtomicUsize,
    was_loaded: AtomicBool,
    /// The least memory that was free since the last release: the allocator counts what it gave back as free.
    free_bytes: AtomicUsize,
    due: AtomicUsize,
}

/// What is seen of a server.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// Whether clients hold much less memory than before.
    pub(crate) has_freed: bool,
    /// How many messages came so far.
    pub(crate) messages: u64,
    /// How many blocking threads have ended so far.
    pub(crate) ended_threads: usize,
    /// How much memory the allocator has that is in no use.
    pub(crate) free_bytes: usize,
}

impl Releases {
    /// Whether memory is to be given back now: clients hold much less than before, a load is over, threads ended, or
    /// much became free in another way, as by the removal of a large file in memory.
    pub(crate) fn is_due(&self, seen: Seen) -> bool {
        let is_loaded = seen.messages - self.messages.swap(seen.messages, Relaxed) >= LOAD_MESSAGES;
        let is_load_over = self.was_loaded.swap(is_loaded, Relaxed) && !is_loaded;
        let have_ended = self.ended_threads.swap(seen.ended_threads, Relaxed) != seen.ended_threads;
        let least = self.free_bytes.fetch_min(seen.free_bytes, Relaxed).min(seen.free_bytes);
        let is_much_free = seen.free_bytes - least >= FREED_BYTES;
        if is_much_free {
            self.free_bytes.store(seen.free_bytes, Relaxed);
        }
        if seen.has_freed || is_load_over || have_ended || is_much_free {
            self.due.store(RELEASES, Relaxed);
        }
        self.due.fetch_update(Relaxed, Relaxed, |due| due.checked_sub(1)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_when_a_load_is_over_threads_ended_or_clients_hold_less() {
        let releases = Releases::default();
        let look = |messages, ended_threads, has_freed| {
            releases.is_due(Seen { has_freed, messages, ended_threads, free_bytes: 0 })
        };
        let check = |name, due: bool, wanted| assert_eq!(due, wanted, "{name}");
        check("nothing happened", look(0, 0, false), false);
        check("few messages came", look(LOAD_MESSAGES - 1, 0, false), false);
        check("few messages are no load", look(LOAD_MESSAGES, 0, false), false);
        check("a load", look(LOAD_MESSAGES * 2, 0, false), false);
        check("the load goes on", look(LOAD_MESSAGES * 3, 0, false), false);
        check("the load is over", look(LOAD_MESSAGES * 3 + 1, 0, false), true);
        check("once more", look(LOAD_MESSAGES * 3 + 2, 0, false), true);
        check("no more", look(LOAD_MESSAGES * 3 + 3, 0, false), false);
        check("threads ended", look(LOAD_MESSAGES * 3 + 3, 2, false), true);
        check("once more", look(LOAD_MESSAGES * 3 + 3, 2, false), true);
        check("no more", look(LOAD_MESSAGES * 3 + 3, 2, false), false);
        check("clients hold less", look(LOAD_MESSAGES * 3 + 3, 2, true), true);
    }

    #[test]
    fn memory_is_given_back_when_much_became_free_without_a_load() {
        let releases = Releases::default();
        let look = |free_bytes| releases.is_due(Seen { free_bytes, ..Seen::default() });
        assert_eq!([1, FREED_BYTES - 1].map(look), [false, false], "little became free");
        assert_eq!([FREED_BYTES; 3].map(look), [true, true, false], "much became free, and is given back twice");
        // The allocator counts that as free, until it is used and free again.
        assert_eq!([FREED_BYTES * 2 - 1, 5, FREED_BYTES * 2].map(look), [false, false, true]);
    }
}
