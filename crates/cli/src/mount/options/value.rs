use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use client::{NameCaching, Transport};

use super::OptionError;

/// The maximum transfer size, and the one used for values below 1 KiB, as in nfs(5).
const MAX_TRANSFER_BYTES: u32 = 1 << 20;
const SMALL_TRANSFER_BYTES: u32 = 4096;

/// The value of an option.
pub(super) struct Value<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
}

impl Value<'_> {
    pub(super) fn wrong(&self, expected: &'static str) -> OptionError {
        OptionError::Value { name: self.name.to_owned(), value: self.text.to_owned(), expected }
    }

    fn number<T: FromStr>(&self, expected: &'static str) -> Result<T, OptionError> {
        self.text.parse().map_err(|_| self.wrong(expected))
    }

    pub(super) fn count(&self) -> Result<u32, OptionError> {
        self.number("expected a number of at least 0")
    }

    pub(super) fn seconds(&self) -> Result<Duration, OptionError> {
        self.number("expected a number of seconds").map(|seconds: u32| Duration::from_secs(seconds.into()))
    }

    pub(super) fn tenths(&self) -> Result<Duration, OptionError> {
        let expected = "expected a number of tenths of a second, at least 1";
        let tenths: u32 = self.number(expected)?;
        if tenths == 0 { Err(self.wrong(expected)) } else { Ok(Duration::from_millis(100) * tenths) }
    }

    /// Whether the netid requires IPv6 (nfs(5), `proto`).
    pub(super) fn is_of_ipv6(&self) -> bool {
        self.text.ends_with('6')
    }

    /// The NFS port; 0 asks rpcbind, for NFSv4 too, as in nfs(5).
    pub(super) fn nfs_port(&self) -> Result<u16, OptionError> {
        self.number("ports are 1 to 65535, and 0 asks rpcbind")
    }

    /// A port; 0 asks rpcbind, as in nfs(5).
    pub(super) fn port(&self) -> Result<Option<u16>, OptionError> {
        self.number("ports are 1 to 65535, and 0 asks rpcbind").map(|port| Some(port).filter(|port| *port != 0))
    }

    /// An address of this machine.
    pub(super) fn address(&self) -> Result<IpAddr, OptionError> {
        self.number("expected an address of this machine, such as 192.0.2.7 or 2001:db8::7")
    }

    /// A port of this machine.
    pub(super) fn own_port(&self) -> Result<u16, OptionError> {
        self.number("ports are 1 to 65535, and 0 picks a free one")
    }

    pub(super) fn connections(&self) -> Result<usize, OptionError> {
        let expected = "expected 1 to 64 connections";
        let count = self.number(expected)?;
        if (1..=client::Options::MAX_CONNECTIONS).contains(&count) { Ok(count) } else { Err(self.wrong(expected)) }
    }

    /// A number of bytes, rounded down to KiB and limited, as in nfs(5).
    pub(super) fn transfer(&self) -> Result<u32, OptionError> {
        let bytes =
            config::parse_size(self.text).map_err(|_| self.wrong("expected a number of bytes, such as 65536 or 1M"))?;
        let bytes = u32::try_from(bytes).map_or(MAX_TRANSFER_BYTES, |bytes| bytes.min(MAX_TRANSFER_BYTES));
        Ok(if bytes < 1024 { SMALL_TRANSFER_BYTES } else { bytes / 1024 * 1024 })
    }

    pub(super) fn transport(&self) -> Result<Transport, OptionError> {
        match self.text {
            "tcp" | "tcp6" => Ok(Transport::Tcp),
            "udp" | "udp6" => Ok(Transport::Udp),
            _ => Err(self.wrong("possible values are tcp and udp, and for IPv6 tcp6 and udp6")),
        }
    }

    /// Security flavours separated by colons; one must be supported.
    pub(super) fn security(&self) -> Result<(), OptionError> {
        let is_there = self.text.split(':').any(|flavour| flavour == "sys");
        if is_there { Ok(()) } else { Err(self.wrong("only sys is possible: Wharf does not support Kerberos")) }
    }

    pub(super) fn transport_security(&self) -> Result<(), OptionError> {
        if self.text == "none" { Ok(()) } else { Err(self.wrong("only none is possible: TLS is not supported")) }
    }

    /// Whether listings use READDIRPLUS.
    pub(super) fn plus(&self) -> Result<bool, OptionError> {
        match self.text {
            "force" => Ok(true),
            "none" => Ok(false),
            _ => Err(self.wrong("possible values are force and none")),
        }
    }

    /// Whether writes are synchronous.
    pub(super) fn waits(&self) -> Result<bool, OptionError> {
        match self.text {
            "lazy" | "eager" => Ok(false),
            "wait" => Ok(true),
            _ => Err(self.wrong("possible values are lazy, eager and wait")),
        }
    }

    pub(super) fn names(&self) -> Result<NameCaching, OptionError> {
        match self.text {
            "all" => Ok(NameCaching::All),
            "pos" | "positive" => Ok(NameCaching::Positive),
            "none" => Ok(NameCaching::Off),
            _ => Err(self.wrong("possible values are all, pos and none")),
        }
    }

    /// Which locks go to the server: those of `fcntl`, and those of `flock`.
    pub(super) fn servers_locks(&self) -> Result<(bool, bool), OptionError> {
        match self.text {
            "none" => Ok((true, true)),
            "flock" => Ok((true, false)),
            "posix" => Ok((false, true)),
            "all" => Ok((false, false)),
            _ => Err(self.wrong("possible values are none, flock, posix and all")),
        }
    }
}
