use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::sync::Arc;

use arc_swap::ArcSwap;

/// The clients of an export: everybody, a network, or a host by name.
#[derive(Debug, Clone)]
pub enum ClientPattern {
    /// Everybody (`*`).
    Everyone,
    /// All addresses that share `prefix_bits` with `address`; a single address has all of its bits.
    Network {
        /// An address of the network.
        address: IpAddr,
        /// The number of leading bits that count: 0 to 32, or to 128 for IPv6.
        prefix_bits: u8,
    },
    /// A host. Its addresses are resolved elsewhere, since that may block, and kept here.
    Host {
        /// The host's name.
        name: String,
        /// The addresses at the last lookup; all copies of the pattern share them.
        addresses: Arc<ArcSwap<Vec<IpAddr>>>,
    },
}

/// The reason why a text is not a client pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientPatternError {
    /// The part after the slash is neither a prefix length nor a netmask.
    #[error("{text:?}: {mask:?} is neither a prefix length nor a netmask (write 10.0.0.0/8 or fd00::/64)")]
    BadMask {
        /// The whole text.
        text: String,
        /// The part after the slash.
        mask: String,
    },
    /// It is neither `*`, an address, a network nor a host name.
    #[error("{0:?} is neither *, an address, a network such as 10.0.0.0/8, nor a host name")]
    NotAPattern(String),
}

impl ClientPattern {
    /// A pattern that matches one address.
    pub fn address(address: IpAddr) -> ClientPattern {
        ClientPattern::Network { address, prefix_bits: full_bits(&address) }
    }

    /// A pattern for a host whose addresses are not resolved yet.
    pub fn host(name: &str) -> ClientPattern {
        ClientPattern::Host { name: name.to_owned(), addresses: Arc::default() }
    }

    /// Whether `client` matches. An IPv4-mapped IPv6 address counts as the IPv4 address.
    pub fn matches(&self, client: IpAddr) -> bool {
        let client = client.to_canonical();
        match self {
            ClientPattern::Everyone => true,
            ClientPattern::Network { address, prefix_bits } => shares_prefix(address, &client, *prefix_bits),
            ClientPattern::Host { addresses, .. } => addresses.load().contains(&client),
        }
    }
}

fn full_bits(address: &IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn shares_prefix(network: &IpAddr, client: &IpAddr, prefix_bits: u8) -> bool {
    match (network, client) {
        (IpAddr::V4(network), IpAddr::V4(client)) => {
            let differing = network.to_bits() ^ client.to_bits();
            differing.leading_zeros() >= u32::from(prefix_bits)
        }
        (IpAddr::V6(network), IpAddr::V6(client)) => {
            let differing = network.to_bits() ^ client.to_bits();
            differing.leading_zeros() >= u32::from(prefix_bits)
        }
        _ => false,
    }
}

impl FromStr for ClientPattern {
    type Err = ClientPatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "*" {
            return Ok(ClientPattern::Everyone);
        }
        if let Some((address, mask)) = text.split_once('/') {
            let address: IpAddr = address.parse().map_err(|_| ClientPatternError::NotAPattern(text.to_owned()))?;
            let bad_mask = || ClientPatternError::BadMask { text: text.to_owned(), mask: mask.to_owned() };
            return Ok(ClientPattern::Network {
                address,
                prefix_bits: parse_mask(mask, &address).ok_or_else(bad_mask)?,
            });
        }
        match text.parse() {
            Ok(address) => Ok(ClientPattern::address(address)),
            Err(_) if is_host_name(text) => Ok(ClientPattern::host(text)),
            Err(_) => Err(ClientPatternError::NotAPattern(text.to_owned())),
        }
    }
}

/// Parses `24`, `255.255.255.0` or `ffff:ffff::` as a prefix length that fits `address`.
fn parse_mask(mask: &str, address: &IpAddr) -> Option<u8> {
    let bits = match address {
        IpAddr::V4(_) if mask.contains('.') => prefix_of_v4(mask.parse().ok()?)?,
        IpAddr::V6(_) if mask.contains(':') => prefix_of_v6(mask.parse().ok()?)?,
        _ => mask.parse().ok()?,
    };
    (bits <= full_bits(address)).then_some(bits)
}

fn prefix_of_v4(mask: Ipv4Addr) -> Option<u8> {
    let bits = mask.to_bits();
    (bits.leading_ones() + bits.trailing_zeros() >= 32).then_some(bits.leading_ones() as u8)
}

fn prefix_of_v6(mask: Ipv6Addr) -> Option<u8> {
    let bits = mask.to_bits();
    (bits.leading_ones() + bits.trailing_zeros() >= 128).then_some(bits.leading_ones() as u8)
}

fn is_host_name(text: &str) -> bool {
    /// RFC 1035 §2.3.4, in text form.
    const MAX_HOST_NAME_BYTES: usize = 253;
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    text.len() <= MAX_HOST_NAME_BYTES && text.split('.').all(is_label)
}

impl fmt::Display for ClientPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientPattern::Everyone => f.write_str("*"),
            ClientPattern::Network { address, prefix_bits } if *prefix_bits == full_bits(address) => address.fmt(f),
            ClientPattern::Network { address, prefix_bits } => write!(f, "{address}/{prefix_bits}"),
            ClientPattern::Host { name, .. } => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> ClientPattern {
        text.parse().unwrap()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn network_holds_its_addresses_and_no_others() {
        for text in ["10.1.0.0/16", "10.1.0.0/255.255.0.0"] {
            assert!(pattern(text).matches(ip("10.1.255.3")), "{text}");
            assert!(pattern(text).matches(ip("::ffff:10.1.2.3")), "{text}");
            assert!(!pattern(text).matches(ip("10.2.0.1")), "{text}");
        }
        assert!(pattern("fd00::/8").matches(ip("fdff::1")));
        assert!(!pattern("fd00::/8").matches(ip("fe00::1")));
        assert!(pattern("0.0.0.0/0").matches(ip("203.0.113.9")));
        assert!(!pattern("0.0.0.0/0").matches(ip("::1")));
    }

    #[test]
    fn host_matches_the_addresses_that_were_found_for_it() {
        let host = pattern("build.example.org");
        assert!(!host.matches(ip("192.0.2.1")));
        let ClientPattern::Host { addresses, .. } = &host else { panic!("not a host") };
        addresses.store(Arc::new(vec![ip("192.0.2.1")]));
        assert!(host.clone().matches(ip("192.0.2.1")));
    }

    #[test]
    fn nonsense_is_refused_with_a_reason() {
        assert!(matches!("10.0.0.0/33".parse::<ClientPattern>(), Err(ClientPatternError::BadMask { .. })));
        assert!(matches!("10.0.0.0/255.0.255.0".parse::<ClientPattern>(), Err(ClientPatternError::BadMask { .. })));
        assert!(matches!("a b".parse::<ClientPattern>(), Err(ClientPatternError::NotAPattern(_))));
        assert!(matches!("".parse::<ClientPattern>(), Err(ClientPatternError::NotAPattern(_))));
    }
}
