use xdr::{Decode, Encode};

/// A service and its port (RFC 1833 §3.1, `mapping`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Mapping {
    /// The program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The transport: [`Mapping::TCP`] or [`Mapping::UDP`].
    pub protocol: u32,
    /// The port.
    pub port: u32,
}

impl Mapping {
    /// TCP as a protocol of IP (IPPROTO_TCP).
    pub const TCP: u32 = 6;
    /// UDP as a protocol of IP (IPPROTO_UDP).
    pub const UDP: u32 = 17;
}
