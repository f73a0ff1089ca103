//! Queries a server's rpcbind for its programs (RFC 1833).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use peer::Transport;
use proto::rpcbind::{self, Getaddr, Rpcb, UniversalAddress, netid, portmap};

use crate::{Connection, Credentials, Error, Options, Reason, Result};

/// A program that rpcbind knows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Service {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The transport, such as `tcp` or `udp6`.
    pub netid: String,
    /// Its address, such as `0.0.0.0.8.1`.
    pub address: String,
    /// The port, if the address has one.
    pub port: Option<u16>,
    /// The user who registered it; empty if rpcbind does not tell.
    pub owner: String,
}

/// A program to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The transport.
    pub transport: Transport,
}

/// Connects to the rpcbind of `host` at this address, at port 111.
///
/// # Errors
/// [`Reason::Connect`].
pub async fn connect(address: HostAddress, host: &str, options: &Options) -> Result<Connection> {
    // rpcbind needs neither credentials nor a privileged port.
    let options = Options { credentials: Credentials::None, use_privileged_port: false, ..options.clone() };
    Connection::connect(address.at(rpcbind::PORT), host, &options).await
}

/// The port of a program: by GETADDR over IPv6, by the port mapper's GETPORT over IPv4.
///
/// # Errors
/// [`Reason::NotRegistered`].
pub async fn getport(connection: &Connection, query: Query) -> Result<u16> {
    let port = match connection.address().ip() {
        IpAddr::V4(_) => getport_v4(connection, query).await?,
        IpAddr::V6(_) => match getaddr(connection, query).await {
            Err(error) if matches!(error.reason(), Reason::Rejected(_)) => getport_v4(connection, query).await?,
            other => other?,
        },
    };
    let Query { program, version, .. } = query;
    let missing = || Error::new(connection.server(), "GETPORT", Reason::NotRegistered { program, version });
    port.filter(|port| *port != 0).ok_or_else(missing)
}

async fn getport_v4(connection: &Connection, query: Query) -> Result<Option<u16>> {
    let protocol = match query.transport {
        Transport::Tcp => portmap::Mapping::TCP,
        Transport::Udp => portmap::Mapping::UDP,
    };
    let mapping = portmap::Mapping { program: query.program, version: query.version, protocol, port: 0 };
    let response = connection.call::<portmap::Getport>(&mapping).await?;
    Ok(u16::try_from(response.decode()?).ok())
}

/// Uses version 4 or 3, which have the same call.
async fn getaddr(connection: &Connection, query: Query) -> Result<Option<u16>> {
    match getaddr_version::<4>(connection, query).await {
        Err(error) if matches!(error.reason(), Reason::Rejected(_)) => getaddr_version::<3>(connection, query).await,
        other => other,
    }
}

async fn getaddr_version<const VERSION: u32>(connection: &Connection, query: Query) -> Result<Option<u16>> {
    let netid = match query.transport {
        Transport::Tcp => netid::TCP6,
        Transport::Udp => netid::UDP6,
    };
    let rpcb = Rpcb { program: query.program, version: query.version, netid, address: b"", owner: b"" };
    let response = connection.call::<Getaddr<VERSION>>(&rpcb).await?;
    Ok(UniversalAddress::parse(response.decode()?.text).ok().map(|address| address.0.port()))
}

/// All programs that rpcbind knows: by version 4 or 3, or else by the port mapper's version 2.
///
/// # Errors
/// The error of the connection or the server.
pub async fn dump(connection: &Connection) -> Result<Vec<Service>> {
    match dump_version::<4>(connection).await {
        Err(error) if matches!(error.reason(), Reason::Rejected(_)) => {}
        other => return other,
    }
    match dump_version::<3>(connection).await {
        Err(error) if matches!(error.reason(), Reason::Rejected(_)) => dump_portmap(connection).await,
        other => other,
    }
}

async fn dump_version<const VERSION: u32>(connection: &Connection) -> Result<Vec<Service>> {
    let response = connection.call::<rpcbind::Dump<VERSION>>(&()).await?;
    Ok(response.decode()?.services.iter().map(Service::from_rpcb).collect())
}

async fn dump_portmap(connection: &Connection) -> Result<Vec<Service>> {
    let response = connection.call::<portmap::Dump>(&()).await?;
    Ok(response.decode()?.mappings.iter().map(Service::from_mapping).collect())
}

impl Service {
    fn from_rpcb(rpcb: &Rpcb<'_>) -> Service {
        Service {
            program: rpcb.program,
            version: rpcb.version,
            netid: String::from_utf8_lossy(rpcb.netid).into_owned(),
            address: String::from_utf8_lossy(rpcb.address).into_owned(),
            port: UniversalAddress::parse(rpcb.address).ok().map(|address| address.0.port()),
            owner: String::from_utf8_lossy(rpcb.owner).into_owned(),
        }
    }

    fn from_mapping(mapping: &portmap::Mapping) -> Service {
        let netid = match mapping.protocol {
            portmap::Mapping::TCP => "tcp".to_owned(),
            portmap::Mapping::UDP => "udp".to_owned(),
            other => other.to_string(),
        };
        let port = u16::try_from(mapping.port).ok();
        let any = |port| UniversalAddress(SocketAddr::new([0, 0, 0, 0].into(), port)).to_string();
        Service {
            program: mapping.program,
            version: mapping.version,
            netid,
            address: port.map(any).unwrap_or_default(),
            port,
            owner: String::new(),
        }
    }
}

/// The address of a host, with the zone of a link-local one (RFC 4007).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAddress(SocketAddr);

impl HostAddress {
    /// The same host at a port.
    pub fn at(self, port: u16) -> SocketAddr {
        let mut address = self.0;
        address.set_port(port);
        address
    }
}

impl From<SocketAddr> for HostAddress {
    /// The host of any port.
    fn from(address: SocketAddr) -> HostAddress {
        HostAddress(address)
    }
}

impl From<IpAddr> for HostAddress {
    fn from(address: IpAddr) -> HostAddress {
        HostAddress(SocketAddr::new(address, 0))
    }
}

/// The addresses of a host that the options allow.
#[doc(hidden)]
pub async fn resolve(host: &str, server: &Arc<str>, options: &Options) -> Result<Vec<HostAddress>> {
    let failed = |source| Error::new(server, "resolve", Reason::Resolve(source));
    let found = tokio::net::lookup_host((host, 0)).await.map_err(failed)?;
    let addresses: Vec<HostAddress> =
        found.filter(|address| address.is_ipv6() || !options.needs_ipv6).map(HostAddress).collect();
    match addresses.is_empty() {
        true if options.needs_ipv6 => Err(failed(std::io::Error::other("it has none of IPv6"))),
        true => Err(failed(std::io::ErrorKind::NotFound.into())),
        false => Ok(addresses),
    }
}
