//! The last restart of each host.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// The number of hosts whose last restart is remembered. When it is exceeded, all are dropped.
const MAX_RESTARTS: usize = 4096;

/// The last restart of each host.
#[derive(Debug, Default)]
pub(crate) struct Restarts(Mutex<HashMap<Host, i32>>);

/// A host's address and name.
type Host = (IpAddr, Box<[u8]>);

impl Restarts {
    /// Records a restart; false when it is already known.
    pub(super) fn note(&self, address: IpAddr, name: &[u8], state: i32) -> bool {
        let mut restarts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if restarts.len() >= MAX_RESTARTS {
            restarts.clear();
        }
        restarts.insert((address.to_canonical(), name.into()), state) != Some(state)
    }
}
