use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// An address and a port as text, independent of the transport (RFC 5665 §5.2.3): the usual form of the address, then
/// the two bytes of the port in decimal, such as `127.0.0.1.8.1` or `::1.8.1` for port 2049.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UniversalAddress(pub SocketAddr);

/// The reason why a text is not a universal address of IPv4 or IPv6.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UniversalAddressError {
    /// The two bytes of the port are missing or malformed.
    #[error("a universal address ends in two numbers from 0 to 255")]
    Port,
    /// The part before the port is not an address.
    #[error("a universal address begins with an IPv4 or an IPv6 address")]
    Address(#[source] std::net::AddrParseError),
    /// It is not ASCII.
    #[error("a universal address is ASCII text")]
    Text(#[source] std::str::Utf8Error),
}

impl UniversalAddress {
    /// Reads a universal address.
    ///
    /// # Errors
    /// When `text` is malformed or empty; GETADDR returns an empty text for unknown services.
    pub fn parse(text: &[u8]) -> Result<UniversalAddress, UniversalAddressError> {
        let text = str::from_utf8(text).map_err(UniversalAddressError::Text)?;
        let mut parts = text.rsplitn(3, '.');
        let (low, high) = (port_byte(parts.next())?, port_byte(parts.next())?);
        let address: IpAddr =
            parts.next().ok_or(UniversalAddressError::Port)?.parse().map_err(UniversalAddressError::Address)?;
        Ok(UniversalAddress(SocketAddr::new(address, u16::from_be_bytes([high, low]))))
    }
}

impl fmt::Display for UniversalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [high, low] = self.0.port().to_be_bytes();
        write!(f, "{}.{high}.{low}", self.0.ip())
    }
}

/// A byte of a port in decimal, without a sign, which Rust's parser would accept.
fn port_byte(text: Option<&str>) -> Result<u8, UniversalAddressError> {
    text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .ok_or(UniversalAddressError::Port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn socket(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_of_both_families_are_read_and_written() {
        let pairs = [
            ("127.0.0.1.8.1", "127.0.0.1:2049"),
            ("0.0.0.0.0.111", "0.0.0.0:111"),
            ("255.255.255.255.255.255", "255.255.255.255:65535"),
            ("::1.8.1", "[::1]:2049"),
            ("::.0.111", "[::]:111"),
            ("2001:db8::7.3.5", "[2001:db8::7]:773"),
            ("::ffff:10.0.0.1.8.1", "[::ffff:10.0.0.1]:2049"),
        ];
        for (text, address) in pairs {
            assert_eq!(UniversalAddress::parse(text.as_bytes()), Ok(UniversalAddress(socket(address))), "{text}");
            assert_eq!(UniversalAddress(socket(address)).to_string(), text);
        }
    }

    #[test]
    fn texts_that_are_no_address_are_refused() {
        let texts = [
            "",
            ".",
            "...",
            "8.1",
            "127.0.0.1",
            "127.0.0.1.8",
            "127.0.0.1.8.256",
            "127.0.0.1.+8.1",
            "127.0.0.1.8.-1",
            "127.0.0.1.8.",
            "127.0.0.1..1",
            "127.0.0.1.8.1.",
            " 127.0.0.1.8.1",
            "[::1].8.1",
            "::1%lo.8.1",
            "localhost.8.1",
            "/run/rpcbind.sock",
        ];
        for text in texts {
            assert!(UniversalAddress::parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(matches!(UniversalAddress::parse(b"\xff.8.1"), Err(UniversalAddressError::Text(_))));
    }
}
