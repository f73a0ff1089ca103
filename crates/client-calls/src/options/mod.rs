mod caching;

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use peer::Transport;
use proto::nfs4::MinorVersion;

use crate::core::{Config, Retry};
use crate::{Credentials, Tunnel};
pub use caching::{Caching, NameCaching};

/// A version of NFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Version {
    /// NFSv2 (RFC 1094).
    V2,
    /// NFSv3 (RFC 1813).
    V3,
    /// NFSv4 in one of its minor versions (RFC 7530, RFC 8881, RFC 7862).
    V4(MinorVersion),
}

impl Version {
    /// NFSv4.0.
    pub const V4_0: Version = Version::V4(MinorVersion::V0);
    /// NFSv4.1.
    pub const V4_1: Version = Version::V4(MinorVersion::V1);
    /// NFSv4.2.
    pub const V4_2: Version = Version::V4(MinorVersion::V2);

    /// The next older version, if there is one; each minor version of NFSv4 counts.
    pub fn older(self) -> Option<Version> {
        Some(match self {
            Version::V4(MinorVersion::V2) => Version::V4_1,
            Version::V4(MinorVersion::V1) => Version::V4_0,
            Version::V4(MinorVersion::V0) => Version::V3,
            Version::V3 => Version::V2,
            Version::V2 => return None,
        })
    }

    /// The version number, without the minor version.
    pub fn number(self) -> u32 {
        match self {
            Version::V2 => 2,
            Version::V3 => 3,
            Version::V4(_) => 4,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::V4(minor) => minor.fmt(f),
            older => older.number().fmt(f),
        }
    }
}

/// How to mount and how to talk to a server. A [`Url`](crate::Url) takes precedence over these options.
///
/// ```
/// use client::{Options, Transport};
///
/// let options = Options { transport: Transport::Udp, connections: 2, ..Options::default() };
/// assert_eq!(options.read_bytes, None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The version of NFS: exactly this one, or the newest to try if [`Options::lowest_version`] is set.
    pub version: Version,
    /// The oldest version to fall back to if the server does not speak [`Options::version`]; those between are tried
    /// from the newest down. `None` allows no other.
    pub lowest_version: Option<Version>,
    /// The transport of calls.
    pub transport: Transport,
    /// Whether only IPv6 addresses of the server are used.
    pub needs_ipv6: bool,
    /// The port of NFS, instead of asking rpcbind. NFSv4 asks rpcbind only for port 0, and uses 2049 by default.
    pub nfs_port: Option<u16>,
    /// The port of MOUNT, instead of asking rpcbind.
    pub mount_port: Option<u16>,
    /// The transport of MOUNT, if it differs from that of NFS.
    pub mount_transport: Option<Transport>,
    /// The port of the lock manager of NFSv2 and NFSv3, instead of asking rpcbind.
    pub lock_port: Option<u16>,
    /// The client's credentials.
    pub credentials: Credentials,
    /// The most bytes of a READ, instead of the size the server prefers; clamped to the server's limit.
    pub read_bytes: Option<u32>,
    /// The most bytes of a WRITE, instead of the size the server prefers; clamped to the server's limit.
    pub write_bytes: Option<u32>,
    /// The size of a READDIR's reply, in bytes: 1 KiB to 1 MiB, or to 32 KiB over UDP.
    pub readdir_bytes: u32,
    /// The time before a call's first retransmission, 10 ms to 600 s. The default is 1.1 s over UDP and 10 s over TCP,
    /// or 60 s over TCP with [`Options::is_hard`]. Each further wait doubles over UDP, and grows by the first one over
    /// TCP.
    pub timeout: Option<Duration>,
    /// How often a call is retransmitted before it fails: by default 4 times over UDP and once over TCP. With the
    /// default timeouts, a call to a dead server fails after 34 s over UDP and after 30 s over TCP.
    pub retransmissions: Option<u32>,
    /// Whether calls wait for the server for ever instead of failing.
    pub is_hard: bool,
    /// The number of connections (`nconnect`), 1 to [`Options::MAX_CONNECTIONS`]; calls take turns.
    pub connections: usize,
    /// The most calls without a reply per connection, 1 to 65 536; further ones wait before they are sent.
    pub max_pending: usize,
    /// Whether to send from a port below 1024 if the system permits it; servers may refuse other ports.
    pub use_privileged_port: bool,
    /// A way to the server other than a TCP socket.
    pub tunnel: Option<Tunnel>,
    /// How long the first attempt to connect may take.
    pub connect_timeout: Duration,
    /// The most entries of one directory; a listing with more fails, because a server may list without end.
    pub max_dir_entries: u64,
    /// What is cached, and for how long.
    pub caching: Caching,
    /// Whether READ_PLUS is used if the version has it (`noreadplus` turns it off).
    pub uses_read_plus: bool,
    /// Whether the client accepts delegations (`nodelegations` refuses them). Servers grant them in NFSv4.1 and later,
    /// and in NFSv4.0 with a [`Options::callback_address`]. A delegated file is cached without revalidation and opened
    /// without a call, until the server recalls the delegation.
    pub uses_delegations: bool,
    /// Whether the client also accepts write delegations. Other clients must then wait for this one even to read the
    /// file. A program that ends without `Mount::unmount` keeps them waiting until its lease
    /// expires.
    pub uses_write_delegations: bool,
    /// The address where the client listens for callbacks of an NFSv4.0 server, which then grants read delegations.
    /// Later versions send callbacks over the client's own connections. Port 0 takes any free port; the unspecified
    /// address stands for the one that the server is reached from. Only calls from the server's address are answered,
    /// and firewalls have to let them through.
    pub callback_address: Option<SocketAddr>,
}

impl Options {
    /// The most connections of one mount.
    pub const MAX_CONNECTIONS: usize = 64;
    /// The time before the first retransmission over UDP, as in nfs(5).
    const DATAGRAM_TIMEOUT: Duration = Duration::from_millis(1100);
    /// The time before a retransmission over TCP: longer than a live server usually takes, and short enough for a user
    /// at a terminal.
    const STREAM_TIMEOUT: Duration = Duration::from_secs(10);
    /// The same for hard mounts, as in nfs(5).
    const HARD_STREAM_TIMEOUT: Duration = Duration::from_secs(60);
    const DATAGRAM_RETRANSMISSIONS: u32 = 4;
    const STREAM_RETRANSMISSIONS: u32 = 1;

    /// Negotiates the newest version that the server speaks, from NFSv4.2 down to NFSv2.
    pub fn negotiating() -> Options {
        Options { version: Version::V4_2, lowest_version: Some(Version::V2), ..Options::default() }
    }

    /// How long a call waits for a server that is silent or asks to try later (NFS4ERR_DELAY, NFS3ERR_JUKEBOX) before
    /// it fails; `None` if it never fails. A server in its grace period after a restart (NFS4ERR_GRACE) will be ready
    /// soon. A call waits two of its leases for it, 600 s at most, and 120 s in versions without leases, but never less
    /// than for a silent server.
    pub fn patience(&self) -> Option<Duration> {
        self.core_config().retry.patience(self.transport)
    }

    /// The port of NFS if rpcbind need not be asked.
    #[doc(hidden)]
    pub fn known_nfs_port(&self) -> Option<u16> {
        self.nfs_port.filter(|port| *port != 0)
    }

    /// The configuration of connections with these options.
    pub(crate) fn core_config(&self) -> Config {
        let (timeout, retransmissions) = match self.transport {
            Transport::Udp => (Self::DATAGRAM_TIMEOUT, Self::DATAGRAM_RETRANSMISSIONS),
            Transport::Tcp if self.is_hard => (Self::HARD_STREAM_TIMEOUT, Self::STREAM_RETRANSMISSIONS),
            Transport::Tcp => (Self::STREAM_TIMEOUT, Self::STREAM_RETRANSMISSIONS),
        };
        Config {
            transport: self.transport,
            max_pending: self.max_pending.clamp(1, Config::MOST_PENDING),
            retry: Retry {
                first_timeout: self.timeout.unwrap_or(timeout).clamp(Retry::MIN_TIMEOUT, Retry::MAX_TIMEOUT),
                retransmissions: self.retransmissions.unwrap_or(retransmissions),
                is_hard: self.is_hard,
            },
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            version: Version::V3,
            lowest_version: None,
            transport: Transport::Tcp,
            needs_ipv6: false,
            nfs_port: None,
            mount_port: None,
            mount_transport: None,
            lock_port: None,
            credentials: Credentials::Process,
            read_bytes: None,
            write_bytes: None,
            readdir_bytes: 64 * 1024,
            timeout: None,
            retransmissions: None,
            is_hard: false,
            connections: 1,
            max_pending: 512,
            use_privileged_port: true,
            tunnel: None,
            connect_timeout: Duration::from_secs(10),
            max_dir_entries: 100_000_000,
            caching: Caching::default(),
            uses_read_plus: true,
            uses_delegations: true,
            uses_write_delegations: false,
            callback_address: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long a call waits in total before it fails.
    fn patience(transport: Transport) -> Duration {
        Options { transport, ..Options::default() }.patience().unwrap()
    }

    #[test]
    fn call_to_a_dead_server_fails_after_about_half_a_minute() {
        assert_eq!(patience(Transport::Tcp), Duration::from_secs(30));
        assert_eq!(patience(Transport::Udp), Duration::from_millis(34_100));
    }
}
