//! When memory that is free is worth being given back to the system.
//!
//! The allocator keeps what was freed, in each thread's arena, whoever held it: connections, caches of the service, or
//! threads that ended. To give it back takes milliseconds, so it is done only when much may have become free.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// So many messages between two looks are a load.
const LOAD_MESSAGES: u64 = 1000;

/// How often memory is given back each time: what the loops keep for the next messages is freed only later.
const RELEASES: usize = 2;

/// What was seen at the last look.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    messages: AtomicU64,
    ended_threads: AtomicUsize,
    was_loaded: AtomicBool,
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
}

impl Releases {
    /// Whether memory is to be given back now: clients hold much less than before, a load is over, or threads ended.
    pub(crate) fn is_due(&self, seen: Seen) -> bool {
        let is_loaded = seen.messages - self.messages.swap(seen.messages, Relaxed) >= LOAD_MESSAGES;
        let is_load_over = self.was_loaded.swap(is_loaded, Relaxed) && !is_loaded;
        let have_ended = self.ended_threads.swap(seen.ended_threads, Relaxed) != seen.ended_threads;
        if seen.has_freed || is_load_over || have_ended {
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
        let look = |messages, ended_threads, has_freed| releases.is_due(Seen { has_freed, messages, ended_threads });
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
}
