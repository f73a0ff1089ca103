//! What is logged of clients that do wrong: one line per client, kind and minute, however often they do it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a client's further wrongs of a kind are only counted.
const INTERVAL: Duration = Duration::from_secs(60);

/// How many clients and kinds are told apart; those beyond are not logged.
const MAX_ENTRIES: usize = 1024;

/// Stands for the client where no client does wrong, but the system lacks something.
pub(crate) const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// What is complained about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Complaint {
    /// A connection was closed for what came over it.
    Closed,
    /// A connection was refused, since the client has as many as one may have.
    Refused,
    /// The client holds as much memory as it may.
    Memory,
    /// Connections of nobody knows which clients could not be accepted.
    NotAccepted,
    /// A thread could not be started.
    NoThread,
}

/// What was logged lately.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    entries: Mutex<HashMap<(IpAddr, Complaint), ComplaintEntry>>,
}

#[derive(Debug)]
struct ComplaintEntry {
    since: Instant,
    untold: u64,
}

impl Complaints {
    /// Whether a wrong of the client at `address` is to be logged now; otherwise it is counted.
    pub(crate) fn is_new(&self, address: IpAddr, complaint: Complaint, now: Instant) -> bool {
        let mut entries = self.lock();
        if let Some(entry) = entries.get_mut(&(address, complaint)) {
            entry.untold += 1;
            return false;
        }
        let has_room = entries.len() < MAX_ENTRIES;
        if has_room {
            entries.insert((address, complaint), ComplaintEntry { since: now, untold: 0 });
        }
        has_room
    }

    /// Takes out what is older than a minute; gives what was counted and not logged.
    pub(crate) fn take_old(&self, now: Instant) -> Vec<(IpAddr, Complaint, u64)> {
        let mut old = Vec::new();
        self.lock().retain(|&(address, complaint), entry| {
            let is_old = now.saturating_duration_since(entry.since) >= INTERVAL;
            if is_old && entry.untold > 0 {
                old.push((address, complaint, entry.untold));
            }
            !is_old
        });
        old
    }

    /// Logs what was only counted, once it is older than a minute.
    pub(crate) fn log_old(&self, now: Instant) {
        for (client, complaint, times) in self.take_old(now) {
            match complaint {
                Complaint::Closed => {
                    tracing::warn!(%client, times, "further connections of this client were closed for what came over them");
                }
                Complaint::Refused => tracing::warn!(%client, times, "further connections of this client were refused"),
                Complaint::NoThread => tracing::warn!(times, "further threads could not be started"),
                Complaint::NotAccepted => tracing::warn!(times, "further attempts to accept connections failed"),
                Complaint::Memory => tracing::warn!(%client, times, "connections of this client waited for memory"),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(IpAddr, Complaint), ComplaintEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_is_complained_of_once_a_minute_and_its_further_wrongs_are_counted() {
        let (complaints, began) = (Complaints::default(), Instant::now());
        let client = IpAddr::from([10, 0, 0, 1]);
        let other = IpAddr::from([10, 0, 0, 2]);
        let told = (0..100).filter(|_| complaints.is_new(client, Complaint::Closed, began)).count();
        assert_eq!(told, 1);
        assert!(complaints.is_new(other, Complaint::Closed, began));
        assert!(complaints.is_new(client, Complaint::Refused, began));
        assert_eq!(complaints.take_old(began + INTERVAL / 2), []);
        assert_eq!(complaints.take_old(began + INTERVAL), [(client, Complaint::Closed, 99)]);
        assert!(complaints.is_new(client, Complaint::Closed, began + INTERVAL));
    }

    #[test]
    fn clients_beyond_number_are_not_kept_in_mind() {
        let (complaints, now) = (Complaints::default(), Instant::now());
        let told = (0..5000_u32)
            .filter(|&number| complaints.is_new(IpAddr::from(number.to_be_bytes()), Complaint::Closed, now));
        assert_eq!(told.count(), MAX_ENTRIES);
        assert_eq!(complaints.lock().len(), MAX_ENTRIES);
    }
}
