//! Logs why clients are refused: one line per client and minute, however often they ask.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::exports::Export;

/// How long nothing more is logged of a client.
const INTERVAL: Duration = Duration::from_secs(60);

/// How many clients are told apart; those beyond are not logged.
const MAX_CLIENTS: usize = 1024;

/// How many clients of an export are listed.
const MAX_LISTED: usize = 8;

/// When clients were last refused with a line in the log.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    logged: Mutex<HashMap<IpAddr, Duration>>,
}

/// Why a client is refused.
pub(crate) enum Refusal<'e> {
    /// The export is not for it.
    NotOffered(&'e Export),
    /// No export is for it.
    Stranger,
    /// There is no export at the path.
    NoExport(&'e [u8]),
    /// Its host has as many opens or locks as one host may have.
    TooMuchState,
}

impl Refusals {
    /// Logs the refusal of `client`, unless one was logged within the last minute.
    #[cold]
    pub(crate) fn note(&self, client: SocketAddr, now: Duration, refusal: &Refusal<'_>) {
        if self.is_new(client.ip(), now) {
            tracing::warn!("refused: {}", Reason { client, refusal });
        }
    }

    fn is_new(&self, client: IpAddr, now: Duration) -> bool {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |at: &Duration| now.saturating_sub(*at) < INTERVAL;
        if logged.get(&client).is_some_and(is_recent) {
            return false;
        }
        if logged.len() >= MAX_CLIENTS {
            logged.retain(|_, at| is_recent(at));
        }
        let has_room = logged.len() < MAX_CLIENTS;
        if has_room {
            logged.insert(client, now);
        }
        has_room
    }
}

struct Reason<'r> {
    client: SocketAddr,
    refusal: &'r Refusal<'r>,
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ip = self.client.ip().to_canonical();
        match self.refusal {
            Refusal::NotOffered(export) if export.is_offered_to(self.client.ip()) => write!(
                f,
                "{ip} sends from port {}, and {} takes privileged ports only (below 1024, `secure`)",
                self.client.port(),
                export.name
            ),
            Refusal::NotOffered(export) => {
                let clients: Vec<String> = export.rules.iter().map(|rule| rule.clients.to_string()).collect();
                let listed = &clients[..clients.len().min(MAX_LISTED)];
                let more = if clients.len() > MAX_LISTED { ", …" } else { "" };
                write!(f, "{ip} is not among the clients of {} ({}{more})", export.name, listed.join(", "))
            }
            Refusal::Stranger => write!(f, "{ip} is not among the clients of any export"),
            Refusal::NoExport(path) => write!(f, "{ip} wants to mount {}, which is not exported", path.escape_ascii()),
            Refusal::TooMuchState => write!(
                f,
                "{ip} wants another open file or lock, and has as many as one host may have; some must be closed first"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use access_rules::{AccessRule, ClientPattern, ExportOptions};
    use fs_mem::{MemFs, MemOptions};

    use super::*;

    fn address(number: u32) -> IpAddr {
        std::net::Ipv4Addr::from(number).into()
    }

    #[test]
    fn client_is_logged_once_a_minute() {
        let refusals = Refusals::default();
        let at = Duration::from_secs;
        assert!(refusals.is_new(address(1), at(0)) && !refusals.is_new(address(1), at(59)));
        assert!(refusals.is_new(address(2), at(59)));
        assert!(refusals.is_new(address(1), at(60)) && !refusals.is_new(address(1), at(61)));
    }

    #[test]
    fn more_clients_than_are_told_apart_take_no_memory() {
        let refusals = Refusals::default();
        let logged = (0..5000).filter(|number| refusals.is_new(address(*number), Duration::ZERO)).count();
        assert_eq!(logged, MAX_CLIENTS);
        assert!(refusals.is_new(address(9999), INTERVAL), "the others are old");
        assert_eq!(refusals.logged.lock().unwrap().len(), 1);
    }

    #[test]
    fn reason_says_whether_the_address_or_the_port_is_wrong() {
        let options = ExportOptions { privileged_ports_only: true, ..ExportOptions::default() };
        let rules = vec![AccessRule { clients: "10.0.0.0/8".parse::<ClientPattern>().unwrap(), options }];
        let file_system = Arc::new(MemFs::new(MemOptions::default()));
        let export = Export { name: "/srv".to_owned(), file_system, rules, fsid: None };
        let reason = |client: &str| {
            Reason { client: client.parse().unwrap(), refusal: &Refusal::NotOffered(&export) }.to_string()
        };
        assert_eq!(reason("192.0.2.1:700"), "192.0.2.1 is not among the clients of /srv (10.0.0.0/8)");
        assert!(reason("10.0.0.1:1024").contains("port 1024, and /srv takes privileged ports only"));
    }
}
