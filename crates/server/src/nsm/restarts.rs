//! The last restart of each host.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The number of hosts whose last restart is remembered. When it is exceeded, all are dropped.
const MAX_RESTARTS: usize = 4096;

/// For this long, a lower number than the last one is that of an earlier announcement. After that, the host has lost
/// its number: monitors repeat an announcement for 15 minutes.
const DELAY: Duration = Duration::from_secs(3600);

/// The last restart of each host: its number, and when it was announced.
#[derive(Debug, Default)]
pub(crate) struct Restarts(Mutex<HashMap<Host, (i32, Duration)>>);

/// A host's address and name.
type Host = (IpAddr, Box<[u8]>);

impl Restarts {
    /// Records a restart; false when it is already known, or earlier than the known one. A host's number grows with
    /// each restart.
    pub(super) fn note(&self, address: IpAddr, name: &[u8], state: i32, now: Duration) -> bool {
        let mut restarts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if restarts.len() >= MAX_RESTARTS {
            restarts.clear();
        }
        let last = restarts.entry((address.to_canonical(), name.into()));
        let is_known =
            |(known, at): (i32, Duration)| state == known || state.wrapping_sub(known) < 0 && now < at + DELAY;
        if matches!(&last, Entry::Occupied(last) if is_known(*last.get())) {
            return false;
        }
        last.insert_entry((state, now));
        true
    }
}
