//! Tells clients the server's ports: through the built-in rpcbind, or the one of this machine.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use net::{Bound, Transport};
use proto::rpcbind::PORT;
use server::Registry;

use crate::error::StartError;
use crate::registration::{Offered, Registered, Registrar};

/// The programs on every NFS port, with their versions.
const SERVICES: [(u32, &[u32]); 5] = [
    (proto::nfs3::PROGRAM, &[2, 3, 4]),
    (proto::nfsacl::PROGRAM, &[proto::nfsacl::VERSION_2, proto::nfsacl::VERSION_3]),
    (proto::mount::PROGRAM, &[1, 2, 3]),
    (proto::nlm::PROGRAM, &[1, 3, 4]),
    (proto::nsm::PROGRAM, &[proto::nsm::VERSION]),
];

/// The supported versions of rpcbind.
const RPCBIND_VERSIONS: [u32; 3] = [2, 3, 4];

/// Enters the services at `bound` into the server's own registry, which always answers on the NFS port.
pub(crate) fn announce(registry: &Registry, bound: &[Bound]) {
    for Offered { program, version, at } in services(bound) {
        registry.set(program, version, at.transport, at.address);
    }
}

/// Also listens on rpcbind's port, on each address that serves NFS.
pub(crate) fn listen(sockets: &mut net::Server, registry: &Registry, bound: &[Bound]) -> Result<(), StartError> {
    let at_port = |mut address: SocketAddr| {
        // The zone of a link-local address stays.
        address.set_port(PORT);
        address
    };
    let mut addresses: Vec<_> = bound.iter().map(|at| at_port(at.address)).collect();
    addresses.sort_unstable();
    addresses.dedup();
    for address in addresses {
        sockets.listen(address).map_err(|source| StartError::Rpcbind { address, source })?;
        for version in RPCBIND_VERSIONS {
            registry.set(proto::rpcbind::PROGRAM, version, Transport::Tcp, address);
            registry.set(proto::rpcbind::PROGRAM, version, Transport::Udp, address);
        }
    }
    Ok(())
}

fn services(bound: &[Bound]) -> impl Iterator<Item = Offered> {
    let versions = |(program, versions): (u32, &'static [u32])| versions.iter().map(move |version| (program, *version));
    let all: Vec<_> = SERVICES.into_iter().flat_map(versions).collect();
    let at_every_address = bound
        .iter()
        .flat_map(move |at| all.clone().into_iter().map(|(program, version)| Offered { program, version, at: *at }));
    at_every_address.filter(|offered| is_served(offered.program, offered.version, offered.at.transport))
}

/// NFSv4 does not run over datagrams (RFC 7530 §3.1).
fn is_served(program: u32, version: u32, transport: Transport) -> bool {
    (program, version, transport) != (proto::nfs4::PROGRAM, proto::nfs4::VERSION, Transport::Udp)
}

/// One address of each transport in each family; only these two identify a registration to remove.
fn every_transport() -> [Bound; 4] {
    let [ipv4, ipv6] = [(Ipv4Addr::UNSPECIFIED, 0).into(), (Ipv6Addr::UNSPECIFIED, 0).into()];
    let (tcp, udp) = (Transport::Tcp, Transport::Udp);
    [(tcp, ipv4), (tcp, ipv6), (udp, ipv4), (udp, ipv6)].map(|(transport, address)| Bound { transport, address })
}

/// Services registered with the rpcbind of this machine.
pub(crate) struct Registration {
    services: Vec<Offered>,
}

impl Registration {
    /// Registers the services at `bound`. Replaces what a dead server left there, also on transports that are no longer
    /// served.
    ///
    /// An existing registration of a status monitor stays if it belongs to this machine, whose NFS client requires it.
    pub(crate) fn new(bound: &[Bound]) -> io::Result<Registration> {
        let mut registrar = Registrar::connect()?;
        let replaced = take_off_all(&mut registrar)?;
        if replaced > 0 {
            tracing::warn!(replaced, "unregistered services of another server from the rpcbind of this machine");
        }
        let mut registration = Registration { services: Vec::new() };
        for service in services(bound) {
            let Offered { program, version, at } = service;
            if registrar.set(&service)? {
                registration.services.push(service);
            } else if program == proto::nsm::PROGRAM {
                tracing::warn!(
                    address = %at.address,
                    "another status monitor (rpc.statd) is registered with the rpcbind of this machine: restarted \
                     clients of NFSv2 and NFSv3 notify it and not this server, which then keeps their locks"
                );
            } else {
                let refusal = format!("it refused program {program} version {version} at {}", at.address);
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, refusal));
            }
        }
        Ok(registration)
    }

    /// Unregisters the services. It is no error if rpcbind is gone.
    pub(crate) fn withdraw(&self) {
        let result = Registrar::connect().and_then(|mut registrar| {
            self.services.iter().try_for_each(|service| registrar.unset(service).map(|_| ()))
        });
        if let Err(error) = result {
            tracing::warn!(%error, "cannot unregister the services from the rpcbind of this machine");
        }
    }
}

/// Unregisters all services of any server, but not a separate status monitor. Returns how many there were.
fn take_off_all(registrar: &mut Registrar) -> io::Result<usize> {
    let registered = registrar.registered()?;
    let mut count = 0;
    for service in services(&every_transport()) {
        let Offered { program, version, at } = service;
        let is_service =
            |other: &&Registered| (other.program, other.version) == (program, version) && other.is_over(&at);
        let found = registered.iter().filter(is_service).count();
        if found > 0 && !(program == proto::nsm::PROGRAM && has_monitor_of_its_own(&registered, &at)) {
            registrar.unset(&service)?;
            count += found;
        }
    }
    Ok(count)
}

/// Whether the registered status monitor is not part of an NFS server: that of another Wharf has the port of its NFS.
fn has_monitor_of_its_own(registered: &[Registered], at: &Bound) -> bool {
    let ports = |program| {
        let of_program = move |service: &&Registered| service.program == program && service.is_over(at);
        registered.iter().filter(of_program).map(|service| service.port)
    };
    ports(proto::nsm::PROGRAM).any(|port| !ports(proto::nfs3::PROGRAM).any(|nfs| nfs == port))
}
