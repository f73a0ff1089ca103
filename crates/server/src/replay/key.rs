use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr};

/// The largest reply to keep, in bytes; replies to these calls are far below it.
pub(crate) const MAX_REPLY_BYTES: usize = 1024;

/// Identifies a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplayKey {
    pub(super) sender: IpAddr,
    /// The sender's port for datagrams; 0 for streams.
    pub(super) port: u16,
    pub(super) xid: u32,
    /// A hash of the message, of 128 bits: different calls collide with a probability of 2⁻¹²⁸.
    pub(super) message: [u64; 2],
}

/// Half of the message's hash suffices. Its key is secret, so that nobody can craft colliding calls.
impl Hash for ReplayKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.message[0]);
    }
}

impl ReplayKey {
    /// The size of an operation's key: the hash.
    pub(super) const OPERATION_BYTES: usize = 16;

    /// The key of an operation of a session.
    pub(super) fn of_operation(message: [u64; 2]) -> ReplayKey {
        ReplayKey { sender: Ipv4Addr::UNSPECIFIED.into(), port: 0, xid: 0, message }
    }

    /// The operations listed in a record.
    pub(super) fn operations(bytes: &[u8]) -> impl Iterator<Item = ReplayKey> {
        let hash = |bytes: &[u8; 8]| u64::from_be_bytes(*bytes);
        let of = move |key: &[u8]| match key.as_chunks().0 {
            [first, second] => Some(ReplayKey::of_operation([hash(first), hash(second)])),
            _ => None,
        };
        bytes.chunks_exact(ReplayKey::OPERATION_BYTES).filter_map(of)
    }
}
