//! The hosts to notify after a restart, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The interval of repeated notifications; it doubles each time, up to the longest.
const FIRST_INTERVAL: Duration = Duration::from_secs(5);
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// The most hosts to notify per tick.
const HOSTS_PER_TURN: usize = 256;

/// The hosts still to notify.
#[derive(Debug, Default)]
pub(crate) struct Notices(Mutex<BTreeMap<Box<[u8]>, Notice>>);

#[derive(Debug, Clone, Copy, Default)]
struct Notice {
    next: Duration,
    interval: Duration,
}

impl Notices {
    /// Sets the hosts that may reclaim.
    pub(crate) fn begin(&self, hosts: Vec<Box<[u8]>>) {
        *self.lock() = hosts.into_iter().map(|host| (host, Notice::default())).collect();
    }

    /// The due hosts, out of those in `waiting`; forgets all others.
    pub(super) fn take_due(&self, waiting: &[Box<[u8]>], now: Duration) -> Vec<Box<[u8]>> {
        let mut notices = self.lock();
        let waiting: BTreeSet<&[u8]> = waiting.iter().map(|host| &**host).collect();
        notices.retain(|host, _| waiting.contains(&**host));
        let mut due = Vec::new();
        for (host, notice) in notices.iter_mut().filter(|(_, notice)| notice.next <= now).take(HOSTS_PER_TURN) {
            notice.interval = (2 * notice.interval).clamp(FIRST_INTERVAL, LONGEST_INTERVAL);
            notice.next = now + notice.interval;
            due.push(host.clone());
        }
        due
    }

    pub(super) fn end(&self, host: &[u8]) {
        self.lock().remove(host);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Box<[u8]>, Notice>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
