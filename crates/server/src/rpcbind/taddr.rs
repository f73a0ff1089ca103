//! UADDR2TADDR and TADDR2UADDR (RFC 1833 §2.2.1): convert between universal addresses and those of this machine's
//! transports.
//!
//! The transports' own form is Linux's `sockaddr_in` and `sockaddr_in6`, whose first word is in this machine's byte
//! order. Only callers on this machine can use it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use proto::rpcbind::{Netbuf, Uaddr, UniversalAddress};
use xdr::{Decode, Decoder, Encode, Encoder};

/// Linux's AF_INET and AF_INET6.
const FAMILY_V4: u16 = 2;
const FAMILY_V6: u16 = 10;
/// The sizes of `sockaddr_in` and `sockaddr_in6`, in bytes.
const BYTES_V4: usize = 16;
const BYTES_V6: usize = 28;

/// An invalid address becomes an empty one.
pub(super) fn uaddr2taddr(from: &mut Decoder<'_>, to: &mut Encoder<'_>) -> xdr::Result<()> {
    let address = UniversalAddress::parse(Uaddr::decode(from)?.text);
    let bytes = address.map_or_else(|_| Vec::new(), |UniversalAddress(address)| socket_bytes(&address));
    Netbuf { max_bytes: bytes.len() as u32, bytes: &bytes }.encode(to);
    Ok(())
}

/// An invalid address becomes an empty text.
pub(super) fn taddr2uaddr(from: &mut Decoder<'_>, to: &mut Encoder<'_>) -> xdr::Result<()> {
    let address = socket_address(Netbuf::decode(from)?.bytes);
    let text = address.map(|address| UniversalAddress(address).to_string()).unwrap_or_default();
    Uaddr { text: text.as_bytes() }.encode(to);
    Ok(())
}

fn socket_bytes(address: &SocketAddr) -> Vec<u8> {
    let port = address.port().to_be_bytes();
    match address.ip() {
        IpAddr::V4(ip) => [&FAMILY_V4.to_ne_bytes()[..], &port, &ip.octets(), &[0; 8]].concat(),
        IpAddr::V6(ip) => [&FAMILY_V6.to_ne_bytes()[..], &port, &[0; 4], &ip.octets(), &[0; 4]].concat(),
    }
}

fn socket_address(bytes: &[u8]) -> Option<SocketAddr> {
    let (family, rest) = bytes.split_first_chunk::<2>()?;
    let (port, rest) = rest.split_first_chunk::<2>()?;
    let ip: IpAddr = match (u16::from_ne_bytes(*family), bytes.len()) {
        (FAMILY_V4, BYTES_V4) => Ipv4Addr::from(*rest.first_chunk::<4>()?).into(),
        (FAMILY_V6, BYTES_V6) => Ipv6Addr::from(*rest[4..].first_chunk::<16>()?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_be_bytes(*port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_come_back_out_of_their_bytes() {
        for text in ["192.0.2.1:2049", "[2001:db8::1]:111"] {
            let address = text.parse().unwrap();
            assert_eq!(socket_address(&socket_bytes(&address)), Some(address));
        }
    }

    #[test]
    fn bytes_of_another_length_are_no_address() {
        let bytes = socket_bytes(&"192.0.2.1:2049".parse().unwrap());
        assert_eq!(socket_address(&bytes[..15]), None);
        assert_eq!(socket_address(&[]), None);
    }
}
