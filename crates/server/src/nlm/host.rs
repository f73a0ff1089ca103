//! The hosts of the lock protocol, as the state manager and its records identify them.
//!
//! ```text
//!  byte 0              16                  32
//! ┌───────────────────┬───────────────────┬──────────────────────────┐
//! │ address of the    │ address of ours   │ the name that the host   │
//! │ host, as IPv6     │ that it uses      │ gives itself             │
//! └───────────────────┴───────────────────┴──────────────────────────┘
//! ```
//!
//! The key contains the host's address because a host can claim any name. It contains the server's because clients
//! number lock owners separately for each server address, and know the server by it after a restart.

use std::net::{IpAddr, Ipv6Addr};

use peer::Peer;
use state::Origin;
use state::limits::NAME_MAX_BYTES;

const ADDRESS_BYTES: usize = 16;
const HEAD_BYTES: usize = 2 * ADDRESS_BYTES;

/// A host of the lock protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostKey(Box<[u8]>);

impl HostKey {
    /// The key of the host that sent from `peer` under the name `name`; `None` if the name is too long for a record.
    pub(crate) fn new(peer: &Peer, name: &[u8]) -> Option<HostKey> {
        if name.len() > NAME_MAX_BYTES - HEAD_BYTES {
            return None;
        }
        let addresses = [peer.address, peer.local].map(|address| octets(address.ip()));
        Some(HostKey([&addresses[0][..], &addresses[1], name].concat().into()))
    }

    /// Parses a stored key; `None` if it is not one.
    pub(crate) fn parse(bytes: &[u8]) -> Option<HostKey> {
        (bytes.len() >= HEAD_BYTES).then(|| HostKey(bytes.into()))
    }

    /// The stored form.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The host's address.
    pub(crate) fn address(&self) -> IpAddr {
        address(&self.0[..ADDRESS_BYTES])
    }

    /// The origin that its locks and waits are counted under.
    pub(crate) fn origin(&self) -> Origin {
        Origin::of(self.address())
    }

    /// The server address that the host uses.
    pub(crate) fn own_address(&self) -> IpAddr {
        address(&self.0[ADDRESS_BYTES..HEAD_BYTES])
    }

    /// The name that the host gives itself.
    pub(crate) fn name(&self) -> &[u8] {
        &self.0[HEAD_BYTES..]
    }

    /// Whether this is a host at `address` that may use the name `name`. A monitor and a lock manager often differ in
    /// whether they append the domain.
    pub(crate) fn is_called(&self, address: IpAddr, name: &[u8]) -> bool {
        HostKey::is_key_of(&self.0, address, name)
    }

    /// [`HostKey::is_called`] for a stored key.
    pub(crate) fn is_key_of(bytes: &[u8], at: IpAddr, name: &[u8]) -> bool {
        bytes.split_at_checked(HEAD_BYTES).is_some_and(|(head, own_name)| {
            address(&head[..ADDRESS_BYTES]) == at.to_canonical() && is_same_name(own_name, name)
        })
    }
}

/// The address and name in a stored host key; `None` if it is not one.
pub fn lock_host(record: &[u8]) -> Option<(IpAddr, &[u8])> {
    let address = HostKey::parse(record)?.address();
    Some((address, &record[HEAD_BYTES..]))
}

fn is_same_name(one: &[u8], other: &[u8]) -> bool {
    let first = |name: &[u8]| name.split(|byte| *byte == b'.').next().map(<[u8]>::to_ascii_lowercase);
    let both_whole = one.contains(&b'.') && other.contains(&b'.');
    if both_whole { one.eq_ignore_ascii_case(other) } else { first(one) == first(other) }
}

fn octets(address: IpAddr) -> [u8; ADDRESS_BYTES] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

fn address(octets: &[u8]) -> IpAddr {
    let mut array = [0; ADDRESS_BYTES];
    array.copy_from_slice(octets);
    IpAddr::V6(Ipv6Addr::from(array)).to_canonical()
}

#[cfg(test)]
mod tests {
    use super::*;
    use peer::Transport;

    fn key(address: &str, name: &str) -> HostKey {
        let (address, local) = (address.parse().unwrap(), "192.0.2.100:2049".parse().unwrap());
        HostKey::new(&Peer { address, local, transport: Transport::Tcp, connection: 1 }, name.as_bytes()).unwrap()
    }

    #[test]
    fn host_is_known_by_its_address_and_its_name_with_and_without_domain() {
        let host = key("192.0.2.1:700", "box.example.org");
        let (address, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        assert!(host.is_called(address, b"box.example.org"));
        assert!(host.is_called(address, b"BOX"));
        assert!(!host.is_called(address, b"box.example.com"));
        assert!(!host.is_called(address, b"bo"));
        assert!(!host.is_called(other, b"box"));
    }

    #[test]
    fn port_and_form_of_an_address_make_no_other_host() {
        assert_eq!(key("192.0.2.1:700", "box"), key("[::ffff:192.0.2.1]:900", "box"));
        assert_ne!(key("192.0.2.1:700", "box"), key("192.0.2.2:700", "box"));
    }

    #[test]
    fn name_that_cannot_be_kept_makes_no_host() {
        let (address, local) = ("192.0.2.1:700".parse().unwrap(), "192.0.2.100:2049".parse().unwrap());
        let peer = Peer { address, local, transport: Transport::Tcp, connection: 1 };
        assert!(HostKey::new(&peer, &[b'x'; NAME_MAX_BYTES - HEAD_BYTES]).is_some());
        assert!(HostKey::new(&peer, &[b'x'; NAME_MAX_BYTES - HEAD_BYTES + 1]).is_none());
        assert_eq!(HostKey::parse(&[0; HEAD_BYTES - 1]), None);
    }
}
