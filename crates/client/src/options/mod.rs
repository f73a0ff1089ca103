mod caching;

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use proto::nfs4::MinorVersion;

use crate::core::{Config, Retry, Transport};
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

    /// The next older version, as far as there is one: each minor version of NFSv4 by itself.
    pub fn older(self) -> Option<Version> {
        Some(match self {
            Version::V4(MinorVersion::V2) => Version::V4_1,
            Version::V4(MinorVersion::V1) => Version::V4_0,
            Version::V4(MinorVersion::V0) => Version::V3,
            Version::V3 => Version::V2,
            Version::V2 => return None,
        })
    }

    /// The number, without that of the minor version.
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

/// How to mount and to talk to a server. What a [`Url`](crate::Url) says goes before what is said here.
///
/// ```
/// use client::{Options, Transport};
///
/// let options = Options { transport: Transport::Datagram, connections: 2, ..Options::default() };
/// assert_eq!(options.read_bytes, None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The version of NFS: exactly this one, or the newest that will do when [`Options::lowest_version`] is named.
    pub version: Version,
    /// The oldest version that will do when the server does not speak [`Options::version`]: those between are tried from the
    /// newest down. `None` takes no other.
    pub lowest_version: Option<Version>,
    /// What carries the calls.
    pub transport: Transport,
    /// Whether the server is reached at its addresses of IPv6 alone.
    pub needs_ipv6: bool,
    /// The port of NFS, instead of asking rpcbind; 0 asks it in NFSv4 too, whose port is 2049 otherwise.
    pub nfs_port: Option<u16>,
    /// The port of MOUNT, instead of asking rpcbind.
    pub mount_port: Option<u16>,
    /// What carries the calls of MOUNT, instead of what carries those of NFS.
    pub mount_transport: Option<Transport>,
    /// The port of the lock manager of NFSv2 and NFSv3, instead of asking rpcbind.
    pub lock_port: Option<u16>,
    /// Who the client says it is.
    pub credentials: Credentials,
    /// The most bytes of a READ, instead of what the server prefers; clamped to what it allows.
    pub read_bytes: Option<u32>,
    /// The most bytes of a WRITE, instead of what the server prefers; clamped to what it allows.
    pub write_bytes: Option<u32>,
    /// The size of a READDIR's reply, in bytes: 1 KiB to 1 MiB, and 32 KiB over UDP.
    pub readdir_bytes: u32,
    /// How long a call waits before it is sent again, 10 ms to 600 s: 1.1 s over UDP and 10 s over TCP when not named, and 60 s over TCP
    /// when [`Options::is_hard`]. Each further wait is twice as long over UDP, and longer by the first one over TCP.
    pub timeout: Option<Duration>,
    /// How often a call is sent again before it fails: 4 times over UDP and once over TCP when not named. With the
    /// time-outs above, a call to a server that is dead fails after 34 s over UDP and after 30 s over TCP.
    pub retransmissions: Option<u32>,
    /// Whether calls wait for the server for ever instead of failing.
    pub is_hard: bool,
    /// How many connections there are (`nconnect`), 1 to [`Options::MAX_CONNECTIONS`]; calls take turns.
    pub connections: usize,
    /// The most calls without a reply per connection, 1 to 65 536; more wait before they are sent.
    pub max_pending: usize,
    /// Whether to send from a port below 1024 when the system permits it; servers may refuse others.
    pub use_privileged_port: bool,
    /// Another way to the server than a TCP socket.
    pub tunnel: Option<Tunnel>,
    /// How long to try to connect at first.
    pub connect_timeout: Duration,
    /// The most entries of one directory; a listing with more fails.
    pub max_dir_entries: u64,
    /// What is kept in memory, and for how long.
    pub caching: Caching,
    /// Whether READ_PLUS is used where the version has it (`noreadplus` turns it off).
    pub uses_read_plus: bool,
    /// Whether files are delegated to the client where the server does that (NFSv4.1 and later, and NFSv4.0 where there is a
    /// [`Options::callback_address`]): what is known of them is
    /// believed, and they are opened without asking, until the server wants them back (`nodelegations` refuses them).
    pub uses_delegations: bool,
    /// Whether files that are written are delegated too. While one is, others wait for this client even to read it: a program that
    /// ends without [`Mount::unmount`](crate::Mount::unmount) keeps them waiting for the rest of its lease.
    pub uses_write_delegations: bool,
    /// Where the client listens for calls of a server of NFSv4.0, which delegates files for reading then; later versions call over
    /// the client's own connections. Port 0 is any that is free, and the unspecified address the one from which the server is
    /// reached. Nobody but the server's address is answered; firewalls have to let it through.
    pub callback_address: Option<SocketAddr>,
}

impl Options {
    /// The most connections of one mount.
    pub const MAX_CONNECTIONS: usize = 64;
    /// Time before the first retransmission over UDP, as nfs(5) has it.
    const DATAGRAM_TIMEOUT: Duration = Duration::from_millis(1100);
    /// Time before a call is sent again over TCP: longer than a server that is alive mostly takes, and short enough for
    /// somebody who waits at a terminal.
    const STREAM_TIMEOUT: Duration = Duration::from_secs(10);
    /// The same for hard mounts, which have time, as nfs(5) has it.
    const HARD_STREAM_TIMEOUT: Duration = Duration::from_secs(60);
    const DATAGRAM_RETRANSMISSIONS: u32 = 4;
    const STREAM_RETRANSMISSIONS: u32 = 1;

    /// With the newest version that the server speaks, from NFSv4.2 down to NFSv2.
    pub fn negotiating() -> Options {
        Options { version: Version::V4_2, lowest_version: Some(Version::V2), ..Options::default() }
    }

    /// How long a call waits for a server that says nothing, or only "not now" (NFS4ERR_DELAY, NFS3ERR_JUKEBOX), before it fails, or
    /// `None` when it never does. A server in its grace period after a restart (NFS4ERR_GRACE) is alive and will be ready: a call waits
    /// for it for two of its leases, 600 s at most, and 120 s where the version has no leases, but never less than for a silent one.
    pub fn patience(&self) -> Option<Duration> {
        self.core_config().retry.patience(self.transport)
    }

    /// The port of NFS where nobody has to be asked for it.
    pub(crate) fn known_nfs_port(&self) -> Option<u16> {
        self.nfs_port.filter(|port| *port != 0)
    }

    /// How a connection of these options behaves.
    pub(crate) fn core_config(&self) -> Config {
        let (timeout, retransmissions) = match self.transport {
            Transport::Datagram => (Self::DATAGRAM_TIMEOUT, Self::DATAGRAM_RETRANSMISSIONS),
            Transport::Stream if self.is_hard => (Self::HARD_STREAM_TIMEOUT, Self::STREAM_RETRANSMISSIONS),
            Transport::Stream => (Self::STREAM_TIMEOUT, Self::STREAM_RETRANSMISSIONS),
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
            transport: Transport::Stream,
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

    /// How long a call waits in all before it fails.
    fn patience(transport: Transport) -> Duration {
        Options { transport, ..Options::default() }.patience().unwrap()
    }

    #[test]
    fn call_to_a_dead_server_fails_after_about_half_a_minute() {
        assert_eq!(patience(Transport::Stream), Duration::from_secs(30));
        assert_eq!(patience(Transport::Datagram), Duration::from_millis(34_100));
    }
}
