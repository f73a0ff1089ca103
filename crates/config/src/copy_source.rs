use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use access_rules::ClientPattern;

/// A network of servers that files may be copied from, on every port. Addresses only: clients name the server
/// themselves, so a host name would prove nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopySource {
    /// An address of the network.
    pub address: IpAddr,
    /// How many leading bits count.
    pub prefix_bits: u8,
}

impl CopySource {
    /// Whether `server` is in the network.
    pub fn has(&self, server: SocketAddr) -> bool {
        let CopySource { address, prefix_bits } = *self;
        ClientPattern::Network { address, prefix_bits }.matches(server.ip())
    }
}

impl FromStr for CopySource {
    type Err = String;

    fn from_str(text: &str) -> Result<CopySource, String> {
        match text.parse() {
            Ok(ClientPattern::Network { address, prefix_bits }) => Ok(CopySource { address, prefix_bits }),
            _ => Err(format!("{text:?} is neither an address nor a network; write 192.0.2.7 or 10.0.0.0/8")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(source: &str, server: &str) -> bool {
        source.parse::<CopySource>().unwrap().has(server.parse().unwrap())
    }

    #[test]
    fn network_has_its_servers_at_every_port_and_no_others() {
        assert!(has("192.0.2.7", "192.0.2.7:2049") && has("192.0.2.7", "192.0.2.7:20490"));
        assert!(has("10.0.0.0/8", "10.1.2.3:2049") && has("fd00::/8", "[fd00::1]:2049"));
        assert!(!has("192.0.2.7", "192.0.2.8:2049") && !has("10.0.0.0/8", "127.0.0.1:2049"));
        assert!(has("127.0.0.1", "[::ffff:127.0.0.1]:2049"));
    }

    #[test]
    fn names_and_everybody_are_no_sources() {
        for text in ["*", "other.example.org", "", "10.0.0.0/99"] {
            assert!(text.parse::<CopySource>().is_err(), "{text}");
        }
    }
}
