//! Reads the clients of an export.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use access_rules::{ClientPattern, ClientPatternError};

/// Why a text does not name clients.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientsError {
    /// It is a NIS netgroup.
    #[error("{0}: netgroups are not supported; name the hosts or their network instead")]
    Netgroup(String),
    /// It is a host name with wildcards.
    #[error(
        "{0}: host names with wildcards are not supported, because any host can claim any name in a reverse lookup; \
         name the network instead"
    )]
    Wildcard(String),
    /// It is a GSS pseudo client.
    #[error("{0}: Kerberos is not supported")]
    Gss(String),
    /// It looks like an address, but is not one.
    #[error("{0} is not an address")]
    NotAnAddress(String),
    /// It is none of the possible forms.
    #[error(transparent)]
    Pattern(#[from] ClientPatternError),
}

/// Reads `*`, an address, a network or a host name.
pub(crate) fn parse_clients(text: &str) -> Result<ClientPattern, ClientsError> {
    if text.starts_with('@') {
        return Err(ClientsError::Netgroup(text.to_owned()));
    }
    if text.starts_with("gss/") {
        return Err(ClientsError::Gss(text.to_owned()));
    }
    if text != "*" && text.contains(['*', '?', '[']) {
        return Err(ClientsError::Wildcard(text.to_owned()));
    }
    let pattern: ClientPattern = text.parse()?;
    match &pattern {
        ClientPattern::Host { name, .. } if is_numeric(name) => Err(ClientsError::NotAnAddress(text.to_owned())),
        _ => Ok(pattern),
    }
}

/// No top-level domain is a number, so such a name can only be a mistyped address.
fn is_numeric(name: &str) -> bool {
    name.rsplit('.').next().is_some_and(|label| label.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The loopback addresses: no other machine can send from them.
pub(crate) fn loopback() -> [ClientPattern; 2] {
    [
        ClientPattern::Network { address: IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), prefix_bits: 8 },
        ClientPattern::address(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_networks_and_hosts_are_clients() {
        for text in ["*", "192.0.2.7", "10.0.0.0/8", "10.0.0.0/255.0.0.0", "fd00::/8", "::1", "build-3.example.org"] {
            assert!(parse_clients(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_its_kind() {
        assert!(matches!(parse_clients("@trusted"), Err(ClientsError::Netgroup(_))));
        assert!(matches!(parse_clients("*.example.org"), Err(ClientsError::Wildcard(_))));
        assert!(matches!(parse_clients("host?.example.org"), Err(ClientsError::Wildcard(_))));
        assert!(matches!(parse_clients("10.0.0.*"), Err(ClientsError::Wildcard(_))));
        assert!(matches!(parse_clients("gss/krb5"), Err(ClientsError::Gss(_))));
        assert!(matches!(parse_clients("10.0.0"), Err(ClientsError::NotAnAddress(_))));
        assert!(matches!(parse_clients("10.0.0.256"), Err(ClientsError::NotAnAddress(_))));
        assert!(matches!(parse_clients("a,b"), Err(ClientsError::Pattern(_))));
    }

    #[test]
    fn loopback_is_all_of_it_and_nothing_else() {
        let matches = |address: &str| loopback().iter().any(|clients| clients.matches(address.parse().unwrap()));
        assert!(matches("127.0.0.1") && matches("127.9.9.9") && matches("::1") && matches("::ffff:127.0.0.1"));
        assert!(!matches("192.0.2.1") && !matches("fe80::1"));
    }
}
