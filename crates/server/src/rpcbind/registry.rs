//! The registered services and their addresses.

use std::cmp::Reverse;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use peer::{Peer, Transport};
use proto::rpcbind::netid;

/// The most services; further ones are refused.
const MAX_SERVICES: usize = 1024;

/// The versions of rpcbind, whose registrations are counted separately.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=4;

/// A service at one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisteredService {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// Its transport.
    pub transport: Transport,
    /// Its address; an unspecified address stands for all addresses of this machine.
    pub address: SocketAddr,
    /// Whether this server registered the service itself, so that no call removes it.
    pub is_own: bool,
}

/// The services that the built-in rpcbind reports.
#[derive(Debug, Default)]
pub struct Registry {
    services: Mutex<Vec<RegisteredService>>,
    /// The number of successful SETs and UNSETs, by version.
    changes: [(AtomicU32, AtomicU32); 3],
}

impl Registry {
    /// Registers a service of this server. Does nothing beyond 1024 services.
    pub fn set(&self, program: u32, version: u32, transport: Transport, address: SocketAddr) {
        self.add(RegisteredService { program, version, transport, address, is_own: true });
    }

    /// All services, in the order of registration.
    pub fn services(&self) -> Vec<RegisteredService> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<RegisteredService>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a service. Fails if the registry is full, or if the same program, version and transport is registered
    /// with another port. Repeating a registration succeeds (RFC 1833 §2.2.1, SET).
    pub(super) fn add(&self, service: RegisteredService) -> bool {
        let mut services = self.lock();
        if let Some(other) = services.iter().find(|other| other.is_instead_of(&service)) {
            return other.address == service.address;
        }
        let has_room = services.len() < MAX_SERVICES;
        if has_room {
            services.push(service);
        }
        has_room
    }

    /// Removes the services that `is_meant` and that this server did not register itself; false if there is none.
    pub(super) fn remove(&self, is_meant: impl Fn(&RegisteredService) -> bool) -> bool {
        let mut services = self.lock();
        let before = services.len();
        services.retain(|service| service.is_own || !is_meant(service));
        services.len() < before
    }

    /// The best match for `wanted`: its own version first, then the address that `peer` used.
    pub(super) fn find(&self, wanted: &ServiceQuery, peer: &Peer) -> Option<RegisteredService> {
        let services = self.lock();
        let suitable = services.iter().filter(|service| wanted.admits(service));
        let best = suitable.max_by_key(|service| {
            (
                service.version == wanted.version,
                service.is_at(peer.local.ip()),
                service.is_own,
                Reverse(service.version),
            )
        });
        best.copied()
    }

    /// Counts a successful SET of one version of rpcbind.
    pub(super) fn count_set(&self, version: u32) {
        self.changes_of(version).0.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a successful UNSET of one version of rpcbind.
    pub(super) fn count_unset(&self, version: u32) {
        self.changes_of(version).1.fetch_add(1, Ordering::Relaxed);
    }

    /// The successful SETs and UNSETs of one version of rpcbind.
    pub(super) fn count(&self, version: u32) -> (u32, u32) {
        let (sets, unsets) = self.changes_of(version);
        (sets.load(Ordering::Relaxed), unsets.load(Ordering::Relaxed))
    }

    fn changes_of(&self, version: u32) -> &(AtomicU32, AtomicU32) {
        let version = version.clamp(*VERSIONS.start(), *VERSIONS.end());
        &self.changes[(version - VERSIONS.start()) as usize]
    }
}

/// The service to look for.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServiceQuery {
    pub(super) program: u32,
    pub(super) version: u32,
    /// Whether other versions are accepted.
    pub(super) any_version: bool,
    pub(super) transport: Transport,
    pub(super) is_ipv6: bool,
}

impl ServiceQuery {
    fn admits(&self, service: &RegisteredService) -> bool {
        service.program == self.program
            && (self.any_version || service.version == self.version)
            && service.transport == self.transport
            && service.address.is_ipv6() == self.is_ipv6
    }
}

impl RegisteredService {
    /// The netid of the service's transport and address family (RFC 5665 §5.1).
    pub(super) fn netid(&self) -> &'static [u8] {
        netid_of(self.transport, self.address.is_ipv6())
    }

    /// The address to give `peer`: for a service at all addresses, the one that received the query.
    pub(super) fn address_for(&self, peer: &Peer) -> SocketAddr {
        let asked_at = peer.local.ip().to_canonical();
        if self.address.ip().is_unspecified() && asked_at.is_ipv6() == self.address.is_ipv6() {
            return SocketAddr::new(asked_at, self.address.port());
        }
        self.address
    }

    fn is_at(&self, address: IpAddr) -> bool {
        self.address.ip() == address.to_canonical() || self.address.ip().is_unspecified()
    }

    /// Whether only one of the two can be registered.
    fn is_instead_of(&self, other: &RegisteredService) -> bool {
        (self.program, self.version, self.netid()) == (other.program, other.version, other.netid())
            && self.address.ip() == other.address.ip()
    }
}

/// The netid of a transport (RFC 5665 §5.1).
pub(super) fn netid_of(transport: Transport, is_ipv6: bool) -> &'static [u8] {
    match (transport, is_ipv6) {
        (Transport::Tcp, false) => netid::TCP,
        (Transport::Udp, false) => netid::UDP,
        (Transport::Tcp, true) => netid::TCP6,
        (Transport::Udp, true) => netid::UDP6,
    }
}

/// The transport of a netid, and whether it uses IPv6.
pub(super) fn transport_of(netid: &[u8]) -> Option<(Transport, bool)> {
    let all = [(Transport::Tcp, false), (Transport::Udp, false), (Transport::Tcp, true), (Transport::Udp, true)];
    all.into_iter().find(|(transport, is_ipv6)| netid_of(*transport, *is_ipv6) == netid)
}
