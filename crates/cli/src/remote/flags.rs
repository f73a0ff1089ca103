use std::time::Duration;

use clap::{Args, ValueEnum};
use client::v4::MinorVersion;
use client::{Credentials, Options, Transport, Version};

/// Commands keep the names of a directory in memory, to sort or to remove them.
const MAX_NAMES: u64 = 2_000_000;

/// How to talk to the server. Parameters in a URL override these flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectFlags {
    /// NFS version; 4 is the newest NFSv4 that the server supports. [default: the newest of all that it supports; 3 for
    /// bench, but for what only NFSv4 has]
    #[arg(long, value_name = "VERSION")]
    version: Option<VersionFlag>,
    /// Transport protocol. NFSv4 uses TCP. [default: tcp]
    #[arg(long, value_name = "PROTO")]
    proto: Option<TransportFlag>,
    /// NFS port, and MOUNT port if the server answers MOUNT there. [default: asked from rpcbind, 2049 for NFSv4]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// MOUNT port. [default: asked from rpcbind]
    #[arg(long, value_name = "PORT")]
    mountport: Option<u16>,
    /// User ID to act as. [default: this process's]
    #[arg(long, value_name = "UID")]
    uid: Option<u32>,
    /// Group ID to act as. [default: this process's]
    #[arg(long, value_name = "GID")]
    gid: Option<u32>,
    /// Maximum READ size. [default: the server's preference]
    #[arg(long, value_name = "SIZE", value_parser = parse_transfer)]
    rsize: Option<u32>,
    /// Maximum WRITE size. [default: the server's preference]
    #[arg(long, value_name = "SIZE", value_parser = parse_transfer)]
    wsize: Option<u32>,
    /// Time before a request is retransmitted; it grows with each retry. With the defaults a command gives up a dead
    /// server after about 30s. [default: 10s over TCP, 1.1s over UDP]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    timeout: Option<Duration>,
    /// Number of retransmissions before a request fails. [default: 1 over TCP, 4 over UDP]
    #[arg(long, value_name = "COUNT")]
    retrans: Option<u32>,
    /// Retry until the server answers, instead of failing.
    #[arg(long)]
    hard: bool,
    /// Maximum number of names in a directory that is listed: a million take up to 400 MB. [default: 2000000]
    #[arg(long, value_name = "COUNT")]
    max_names: Option<u64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum VersionFlag {
    #[value(name = "2")]
    V2,
    #[value(name = "3")]
    V3,
    #[value(name = "4")]
    V4,
    #[value(name = "4.0")]
    V4_0,
    #[value(name = "4.1")]
    V4_1,
    #[value(name = "4.2")]
    V4_2,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TransportFlag {
    Tcp,
    Udp,
}

impl ConnectFlags {
    /// Returns these flags as options of the client.
    pub fn options(&self) -> Options {
        let defaults = Options::negotiating();
        let lowest_version = match self.version {
            None => defaults.lowest_version,
            Some(VersionFlag::V4) => Some(Version::V4_0),
            Some(_) => None,
        };
        Options {
            version: self.version.map_or(defaults.version, VersionFlag::version),
            lowest_version,
            transport: self.proto.map_or(defaults.transport, TransportFlag::transport),
            nfs_port: self.port,
            mount_port: self.mountport,
            credentials: self.credentials(),
            read_bytes: self.rsize,
            write_bytes: self.wsize,
            timeout: self.timeout,
            retransmissions: self.retrans,
            is_hard: self.hard,
            max_dir_entries: self.max_names.unwrap_or(MAX_NAMES),
            // A command may be killed at any time, and its delegations would then block others until its lease expires.
            uses_delegations: false,
            ..defaults
        }
    }

    /// The same flags, with NFSv4.2 as the default version.
    pub fn preferring_4_2(&self) -> ConnectFlags {
        ConnectFlags { version: self.version.or(Some(VersionFlag::V4_2)), ..self.clone() }
    }

    /// The same flags, with the newest NFSv4 as the default version.
    pub fn preferring_4(&self) -> ConnectFlags {
        ConnectFlags { version: self.version.or(Some(VersionFlag::V4)), ..self.clone() }
    }

    /// The same flags, with NFSv3 as the default version: measurements compare servers in one version.
    pub fn preferring_3(&self) -> ConnectFlags {
        ConnectFlags { version: self.version.or(Some(VersionFlag::V3)), ..self.clone() }
    }

    /// The version of `--version`.
    pub fn version(&self) -> Option<Version> {
        self.version.map(VersionFlag::version)
    }

    /// The same flags, with this default version.
    pub fn preferring(&self, version: Version) -> ConnectFlags {
        let preferred = match version {
            Version::V2 => VersionFlag::V2,
            Version::V3 => VersionFlag::V3,
            Version::V4(MinorVersion::V0) => VersionFlag::V4_0,
            Version::V4(MinorVersion::V1) => VersionFlag::V4_1,
            _ => VersionFlag::V4_2,
        };
        ConnectFlags { version: self.version.or(Some(preferred)), ..self.clone() }
    }

    /// The user of `--uid`.
    pub(super) fn uid(&self) -> Option<u32> {
        self.uid
    }

    fn credentials(&self) -> Credentials {
        let process = || (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        match (self.uid, self.gid) {
            (None, None) => Credentials::Process,
            // The groups of this process do not belong to another user.
            (uid, gid) => Credentials::Sys {
                uid: uid.unwrap_or_else(|| process().0),
                gid: gid.unwrap_or_else(|| process().1),
                groups: Vec::new(),
            },
        }
    }
}

impl VersionFlag {
    fn version(self) -> Version {
        match self {
            VersionFlag::V2 => Version::V2,
            VersionFlag::V3 => Version::V3,
            VersionFlag::V4_0 => Version::V4_0,
            VersionFlag::V4_1 => Version::V4_1,
            VersionFlag::V4 | VersionFlag::V4_2 => Version::V4_2,
        }
    }
}

impl TransportFlag {
    fn transport(self) -> Transport {
        match self {
            TransportFlag::Tcp => Transport::Tcp,
            TransportFlag::Udp => Transport::Udp,
        }
    }
}

fn parse_transfer(text: &str) -> Result<u32, String> {
    let bytes = config::parse_size(text).map_err(|error| error.to_string())?;
    let bytes = u32::try_from(bytes).map_err(|_| "a transfer must be smaller than 4 GiB".to_owned())?;
    if bytes == 0 { Err("a transfer has at least one byte".to_owned()) } else { Ok(bytes) }
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let time = config::parse_timeout(text).map_err(|error| error.to_string())?;
    let time = time.ok_or_else(|| "a time that ends is required, such as 10s; --hard waits for ever".to_owned())?;
    if time.is_zero() { Err("a time above zero is required, such as 10s".to_owned()) } else { Ok(time) }
}
