//! Resolves the host names of clients.
//!
//! A look-up may be slow, so a thread repeats it regularly, and requests use the latest result. While a look-up fails,
//! the last addresses stay valid: a name server that is down must not lock clients out.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use arc_swap::ArcSwap;
use config::ExportSpec;
use server::ClientPattern;

use crate::failure::Failure;

/// How long an address stays valid.
const REFRESH_INTERVAL: Duration = Duration::from_secs(60);

/// How long a start or a reload waits for the first addresses of new names.
const FIRST_LOOKUP: Duration = Duration::from_secs(5);

/// The queue of look-up requests; one covers all that arrive while it waits.
const MAX_REQUESTS: usize = 1;

/// The addresses of one host.
type Addresses = Arc<ArcSwap<Vec<IpAddr>>>;

/// Keeps the addresses of hosts up to date as long as it lives.
pub struct HostNames {
    hosts: Arc<Mutex<HashMap<String, Addresses>>>,
    now: SyncSender<SyncSender<()>>,
}

impl HostNames {
    /// Starts without hosts.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start() -> Result<HostNames, Failure> {
        let hosts: Arc<Mutex<HashMap<String, Addresses>>> = Arc::default();
        let (now, requests) = sync_channel::<SyncSender<()>>(MAX_REQUESTS);
        let shared = Arc::clone(&hosts);
        let run = move || {
            loop {
                let done = match requests.recv_timeout(REFRESH_INTERVAL) {
                    Ok(done) => Some(done),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                refresh(&shared);
                // The caller may no longer be waiting.
                done.map(|done| done.try_send(()));
            }
        };
        let spawned = thread::Builder::new().name("host-names".to_owned()).spawn(run);
        spawned.map_err(|source| Failure::System { action: "start a thread for host names", source })?;
        Ok(HostNames { hosts, now })
    }

    /// Keeps the addresses of the hosts in `exports` up to date as long as the exports exist. Waits briefly for the
    /// first addresses.
    pub fn adopt(&self, exports: &mut [ExportSpec]) {
        let names = self.share_addresses(exports);
        if names == 0 {
            return;
        }
        let (done, first_lookup) = sync_channel(1);
        let asked = self.now.try_send(done).is_ok();
        if !asked || first_lookup.recv_timeout(FIRST_LOOKUP).is_err() {
            tracing::warn!(
                names,
                "host names of clients are still being resolved; these clients are refused until then"
            );
        }
    }

    /// Makes all patterns of one host share one cell with its addresses. Returns the number of hosts.
    fn share_addresses(&self, exports: &mut [ExportSpec]) -> usize {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.retain(|_, addresses| is_used(addresses));
        let mut named = HashSet::new();
        for rule in exports.iter_mut().flat_map(|export| &mut export.rules) {
            if let ClientPattern::Host { name, addresses } = &mut rule.clients {
                *addresses = Arc::clone(hosts.entry(name.clone()).or_default());
                named.insert(name.clone());
            }
        }
        named.len()
    }
}

/// Whether an export uses these addresses, in force or in a reload.
fn is_used(addresses: &Addresses) -> bool {
    Arc::strong_count(addresses) > 1
}

/// Looks every host up, without holding the lock.
fn refresh(hosts: &Mutex<HashMap<String, Addresses>>) {
    let hosts: Vec<(String, Addresses)> = {
        let hosts = hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts
            .iter()
            .filter(|(_, addresses)| is_used(addresses))
            .map(|(name, addresses)| (name.clone(), Arc::clone(addresses)))
            .collect()
    };
    for (name, addresses) in hosts {
        match (name.as_str(), 0).to_socket_addrs() {
            Ok(found) => store(&name, &addresses, found.map(|address| address.ip().to_canonical()).collect()),
            Err(error) => tracing::warn!(host = name, %error, "cannot resolve the host name of a client"),
        }
    }
}

fn store(name: &str, addresses: &Addresses, mut found: Vec<IpAddr>) {
    found.sort_unstable();
    found.dedup();
    if **addresses.load() != found {
        tracing::info!(host = name, addresses = ?found, "resolved the host name of a client");
        addresses.store(Arc::new(found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::{Defaults, ExportFlags};
    use std::path::Path;

    fn exports(clients: &[&str]) -> Vec<ExportSpec> {
        let flags = ExportFlags {
            exports: vec!["/a".into(), "/b".into()],
            clients: clients.iter().map(|client| (*client).to_owned()).collect(),
            ..ExportFlags::default()
        };
        flags.parse(Path::new("/"), &Defaults::privileged()).unwrap()
    }

    fn lets_in(export: &ExportSpec, address: &str) -> bool {
        let address = address.parse().unwrap();
        export.rules.iter().any(|rule| rule.clients.matches(address))
    }

    #[test]
    fn named_host_is_let_in_once_its_addresses_are_found() {
        let mut exports = exports(&["localhost"]);
        assert!(!lets_in(&exports[0], "127.0.0.1"));
        HostNames::start().unwrap().adopt(&mut exports);
        assert!(exports.iter().all(|export| lets_in(export, "127.0.0.1")));
    }

    #[test]
    fn known_host_is_let_in_right_after_a_reload_and_forgotten_with_its_export() {
        let names = HostNames::start().unwrap();
        let mut first = exports(&["localhost"]);
        names.adopt(&mut first);
        let mut again = exports(&["localhost", "192.0.2.1"]);
        assert_eq!(names.share_addresses(&mut again), 1);
        assert!(lets_in(&again[0], "127.0.0.1"));
        drop((first, again));
        assert_eq!(names.share_addresses(&mut exports(&["192.0.2.1"])), 0);
        assert!(names.hosts.lock().unwrap().is_empty());
    }
}
