//! The identifiers of state: client IDs, session IDs, stateids, files and principals.

use std::fmt;
use std::hash::{Hash, Hasher};

use vfs::Handle;

/// A client ID: the boot number in the upper half, a number unique within the boot in the lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub u64);

impl ClientId {
    pub(crate) fn new(boot: u32, number: u32) -> ClientId {
        ClientId(u64::from(boot) << 32 | u64::from(number))
    }

    pub(crate) fn boot(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) fn number(self) -> u32 {
        self.0 as u32
    }
}

/// Identifies an owner; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OwnerId(pub u64);

impl OwnerId {
    /// The ID of no owner.
    pub(crate) const NOBODY: OwnerId = OwnerId(0);
}

/// A session ID (RFC 8881 §2.10.3): the client ID and a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(pub [u8; 16]);

impl SessionId {
    pub(crate) fn new(client: ClientId, number: u64) -> SessionId {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&client.0.to_be_bytes());
        bytes[8..].copy_from_slice(&number.to_be_bytes());
        SessionId(bytes)
    }

    pub(crate) fn number(&self) -> u64 {
        let [_, _, _, _, _, _, _, _, number @ ..] = self.0;
        u64::from_be_bytes(number)
    }
}

/// Hashes the number alone: no two sessions have the same one, and every request looks its session up.
impl Hash for SessionId {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.number());
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionId({:032x})", u128::from_be_bytes(self.0))
    }
}

/// A stateid (RFC 8881 §8.2): a state and the version of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stateid {
    /// Counts the changes of this state; starts at 1 and skips 0 when it wraps.
    pub seqid: u32,
    /// Identifies the state: boot number, client number, number within the client.
    pub other: [u8; 12],
}

impl Stateid {
    /// No state: READ, WRITE and SETATTR are checked only against share reservations.
    pub const ANONYMOUS: Stateid = Stateid { seqid: 0, other: [0; 12] };
    /// Like [`Stateid::ANONYMOUS`], but READ bypasses share reservations.
    pub const READ_BYPASS: Stateid = Stateid { seqid: u32::MAX, other: [0xff; 12] };
    /// The stateid of the previous operations (RFC 8881 §16.2.3.1.2); COMPOUND resolves it.
    pub const CURRENT: Stateid = Stateid { seqid: 1, other: [0; 12] };
    /// A stateid that is never valid (RFC 8881 §8.2.3).
    pub const INVALID: Stateid = Stateid { seqid: u32::MAX, other: [0; 12] };

    /// Whether this is one of the reserved values, which identify no state.
    pub fn is_special(&self) -> bool {
        self.other == [0; 12] || self.other == [0xff; 12]
    }

    pub(crate) fn of(boot: u32, key: StateKey, seqid: u32) -> Stateid {
        let mut other = [0; 12];
        other[..4].copy_from_slice(&boot.to_be_bytes());
        other[4..].copy_from_slice(&key.0.to_be_bytes());
        Stateid { seqid, other }
    }

    pub(crate) fn boot(&self) -> u32 {
        let [a, b, c, d, ..] = self.other;
        u32::from_be_bytes([a, b, c, d])
    }

    pub(crate) fn key(&self) -> StateKey {
        let [_, _, _, _, key @ ..] = self.other;
        StateKey(u64::from_be_bytes(key))
    }
}

/// The key of a state: the client's number above, a number within the client below, so that one client's states are
/// adjacent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StateKey(pub(crate) u64);

impl StateKey {
    pub(crate) fn new(client: u32, number: u32) -> StateKey {
        StateKey(u64::from(client) << 32 | u64::from(number))
    }

    pub(crate) fn client(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A file, as the key of its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileKey {
    /// The file system, since handles are unique only within one; the same for every path into it.
    pub export: u64,
    /// The file within it.
    pub node: Handle,
}

/// The principal of a request: bytes that are equal for equal principals.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Principal(pub Box<[u8]>);

impl Principal {
    /// Copies the bytes that identify a principal.
    pub fn new(bytes: &[u8]) -> Principal {
        Principal(bytes.into())
    }
}

/// What identifies the client of a stateid, by the protocol of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateidScope {
    /// NFSv4.0: the stateid identifies the client.
    V40,
    /// NFSv4.1 and later: the session identifies the client.
    V41(ClientId),
}

/// A stateid in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopedStateid<'a> {
    /// What identifies its client.
    pub scope: StateidScope,
    /// The stateid.
    pub stateid: &'a Stateid,
}

impl StateidScope {
    /// A stateid in a request of this protocol.
    pub fn of(self, stateid: &Stateid) -> ScopedStateid<'_> {
        ScopedStateid { scope: self, stateid }
    }
}

/// The originator of a change or access that is checked for conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requester {
    /// An NFSv4 client: its own delegations do not conflict (RFC 8881 §10.4).
    Client(ClientId),
    /// NFSv2, NFSv3, the lock protocol, or a local program.
    Other,
}

/// The next seqid of a stateid, which skips 0 (RFC 8881 §8.2.2).
pub(crate) fn next_seqid(seqid: u32) -> u32 {
    match seqid.wrapping_add(1) {
        0 => 1,
        next => next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stateid_carries_its_boot_and_key() {
        let stateid = Stateid::of(77, StateKey::new(3, 9), 1);
        assert_eq!((stateid.boot(), stateid.key(), stateid.key().client()), (77, StateKey::new(3, 9), 3));
    }

    #[test]
    fn seqid_of_a_stateid_skips_zero_when_it_wraps() {
        assert_eq!(next_seqid(u32::MAX), 1);
    }

    #[test]
    fn reserved_stateids_name_no_state() {
        for special in [Stateid::ANONYMOUS, Stateid::READ_BYPASS, Stateid::CURRENT, Stateid::INVALID] {
            assert!(special.is_special());
        }
    }
}
