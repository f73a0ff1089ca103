//! Names of transports (RFC 5665 §5.1).

/// TCP over IPv4.
pub const TCP: &[u8] = b"tcp";
/// UDP over IPv4.
pub const UDP: &[u8] = b"udp";
/// TCP over IPv6.
pub const TCP6: &[u8] = b"tcp6";
/// UDP over IPv6.
pub const UDP6: &[u8] = b"udp6";
