use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// The port of NFS (RFC 1094 §3.3, RFC 1813 §1.4).
const NFS_PORT: u16 = 2049;

/// Where a server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// At one address.
    At(SocketAddr),
    /// At this port of this machine alone: of 127.0.0.1 and ::1.
    Loopback(u16),
    /// At this port of all addresses, of both families.
    Everywhere(u16),
}

impl Listen {
    /// What is listened on unless something else is said.
    pub const DEFAULT: Listen = Listen::Loopback(NFS_PORT);

    /// The addresses; the one of IPv6 is left out where there are others and this machine has none.
    pub fn addresses(self, has_ipv6: bool) -> Vec<SocketAddr> {
        let (v4, v6, port) = match self {
            Listen::At(address) => return vec![address],
            Listen::Loopback(port) => (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST, port),
            Listen::Everywhere(port) => (Ipv4Addr::UNSPECIFIED, Ipv6Addr::UNSPECIFIED, port),
        };
        let mut addresses = vec![SocketAddr::from((v4, port))];
        addresses.extend(has_ipv6.then(|| SocketAddr::from((v6, port))));
        addresses
    }
}

/// Reads `ADDRESS:PORT`, where a link-local address has a zone (`[fe80::1%eth0]:2049`), an address alone for port 2049,
/// `PORT` or `localhost:PORT` for this machine, or `:PORT` for all addresses.
impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Listen, String> {
        if let Some(address) = in_zone(text) {
            return address.map(Listen::At);
        }
        let bare = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(Listen::At(SocketAddr::new(address, NFS_PORT)));
        }
        if let Ok(address) = text.parse() {
            return Ok(Listen::At(address));
        }
        let (host, port) = text.rsplit_once(':').map_or((None, text), |(host, port)| (Some(host), port));
        match (host, port.parse()) {
            (None | Some("localhost"), Ok(port)) => Ok(Listen::Loopback(port)),
            (Some("" | "*"), Ok(port)) => Ok(Listen::Everywhere(port)),
            _ if text == "localhost" => Ok(Listen::DEFAULT),
            _ => Err(format!(
                "{text:?} is not an address; write an address and a port such as 192.0.2.1:2049 or [::1]:2049, a port \
                 alone for this machine, or `:2049` for all addresses"
            )),
        }
    }
}

/// A link-local address with a zone (RFC 4007 §11), which the system finds: a number, or a name of an interface.
fn in_zone(text: &str) -> Option<Result<SocketAddr, String>> {
    let (address, rest) = text.strip_prefix('[').unwrap_or(text).split_once('%')?;
    address.parse::<Ipv6Addr>().ok()?;
    let (zone, port) = match text.starts_with('[') {
        true => rest.split_once(']')?,
        false => (rest, ""),
    };
    // if_nametoindex(3) takes the name up to the colon.
    if zone.contains(':') {
        let (zone, port) = zone.split_once(':')?;
        return Some(Err(format!("{text:?} is not an address: write [{address}%{zone}]:{port}")));
    }
    let port = if port.is_empty() { NFS_PORT } else { port.strip_prefix(':')?.parse().ok()? };
    let found = (format!("{address}%{zone}").as_str(), port).to_socket_addrs();
    let found = found.ok().and_then(|mut addresses| addresses.next());
    Some(found.ok_or_else(|| {
        format!(
            "{text:?} is not an address: no network interface is called {zone}; `ip link` shows those that there are"
        )
    }))
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::At(address) => address.fmt(f),
            Listen::Loopback(port) => write!(f, "localhost:{port}"),
            Listen::Everywhere(port) => write!(f, ":{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_may_be_left_out_or_stand_alone() {
        for (text, addresses) in [
            ("127.0.0.1", "127.0.0.1:2049"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("::1", "[::1]:2049"),
            ("[::1]", "[::1]:2049"),
            ("[::]:20490", "[::]:20490"),
            ("3049", "127.0.0.1:3049 [::1]:3049"),
            ("localhost:3049", "127.0.0.1:3049 [::1]:3049"),
            ("localhost", "127.0.0.1:2049 [::1]:2049"),
            (":3049", "0.0.0.0:3049 [::]:3049"),
            ("*:3049", "0.0.0.0:3049 [::]:3049"),
        ] {
            let listen: Listen = text.parse().unwrap();
            let all: Vec<String> = listen.addresses(true).iter().map(SocketAddr::to_string).collect();
            assert_eq!(all.join(" "), addresses, "{text}");
        }
        let loopback: Listen = "3049".parse().unwrap();
        assert_eq!(loopback.addresses(false), ["127.0.0.1:3049".parse().unwrap()]);
    }

    #[test]
    fn zone_of_a_link_local_address_is_a_name_or_a_number() {
        for text in ["[fe80::1%lo]:3049", "[fe80::1%1]:3049"] {
            let Listen::At(SocketAddr::V6(address)) = text.parse().unwrap() else { panic!("{text}") };
            assert_eq!((address.scope_id(), address.port()), (1, 3049), "{text}");
        }
        for text in ["fe80::1%lo", "[fe80::1%lo]"] {
            assert_eq!(text.parse::<Listen>().unwrap().to_string(), "[fe80::1%1]:2049", "{text}");
        }
        let refused = "[fe80::1%nowhere]:2049".parse::<Listen>().unwrap_err();
        assert!(refused.contains("no network interface is called nowhere"), "{refused}");
    }

    #[test]
    fn port_behind_a_zone_needs_brackets() {
        let refused = "fe80::1%lo:3049".parse::<Listen>().unwrap_err();
        assert!(refused.ends_with("write [fe80::1%lo]:3049"), "{refused}");
    }

    #[test]
    fn what_names_no_address_is_refused() {
        for text in ["", "host:2049", "1.2.3:4", "::1:x", "127.0.0.1:70000", "70000", "localhost:x", "[fe80::1%lo]:x"] {
            assert!(text.parse::<Listen>().unwrap_err().contains("is not an address"), "{text}");
        }
    }

    #[test]
    fn what_is_shown_is_read_as_the_same() {
        for text in ["192.0.2.1:3049", "[::1]:2049", "localhost:3049", ":3049"] {
            assert_eq!(text.parse::<Listen>().unwrap().to_string(), text);
        }
    }
}
