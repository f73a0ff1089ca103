//! The handles that clients see: a file system's handle with its export and a keyed checksum.
//!
//! ```text
//!  byte 0        1            2..4          4..12                12..(12 + length)
//! ┌─────────┬──────────────┬─────────────┬────────────────────┬───────────────────────────┐
//! │ format  │ length (≤20) │ export tag  │ keyed checksum     │ the file system's handle  │
//! └─────────┴──────────────┴─────────────┴────────────────────┴───────────────────────────┘
//! ```
//!
//! All protocol versions carry the same bytes; NFSv2, whose handles have a fixed size, pads with zeros. The checksum
//! covers everything else. Its key is derived from the export's whole identity, so the two-byte tag may be ambiguous.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;
use siphasher::sip128::{self, Hasher128};
use vfs::Handle;

const FORMAT: u8 = 0x57;
const HEAD_BYTES: usize = 12;

/// The secret key of this server's handles. It is kept across restarts and never leaves the server.
#[derive(Clone)]
pub struct HandleKey([u8; 16]);

impl std::fmt::Debug for HandleKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HandleKey(secret)")
    }
}

impl HandleKey {
    /// The size of a key.
    pub const BYTES: usize = 16;

    /// Makes a key from random bytes.
    pub fn new(random: [u8; Self::BYTES]) -> HandleKey {
        HandleKey(random)
    }

    /// A key derived from this one and `identity`.
    pub(crate) fn derive(&self, identity: &[u8]) -> HandleKey {
        let half = |which: u8| {
            let mut hasher = SipHasher24::new_with_key(&self.0);
            hasher.write_u8(which);
            hasher.write(identity);
            hasher.finish().to_le_bytes()
        };
        let mut key = [0; Self::BYTES];
        key[..8].copy_from_slice(&half(0));
        key[8..].copy_from_slice(&half(1));
        HandleKey(key)
    }

    /// The keyed checksum of `bytes`.
    pub(crate) fn checksum(&self, bytes: &[u8]) -> u64 {
        SipHasher24::new_with_key(&self.0).hash(bytes)
    }

    /// The keyed checksum of `parts` in 128 bits, which does not depend on where one part ends.
    pub(crate) fn long_checksum(&self, parts: &[&[u8]]) -> [u64; 2] {
        let mut hasher = sip128::SipHasher24::new_with_key(&self.0);
        parts.iter().for_each(|part| hasher.write(part));
        let hash = hasher.finish128();
        [hash.h1, hash.h2]
    }
}

/// Narrows the search for the export of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ExportTag([u8; 2]);

impl ExportTag {
    pub(crate) fn of(identity: &[u8]) -> ExportTag {
        let hash = SipHasher24::new().hash(identity).to_be_bytes();
        ExportTag([hash[0], hash[1]])
    }
}

/// The reason why a handle resolves to no file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandleError {
    /// The bytes do not have the form of a handle.
    Malformed,
    /// The export does not exist, or the handle was altered.
    Unknown,
}

/// A handle as it goes over the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WireHandle {
    bytes: [u8; WireHandle::MAX_BYTES],
}

impl WireHandle {
    /// The longest handle: that of NFSv2 (RFC 1094 §2.3.3, FHSIZE).
    pub(crate) const MAX_BYTES: usize = HEAD_BYTES + Handle::MAX_BYTES;

    pub(crate) fn new(tag: ExportTag, node: &Handle, key: &HandleKey) -> WireHandle {
        let node = node.as_bytes();
        let mut handle = WireHandle { bytes: [0; Self::MAX_BYTES] };
        handle.bytes[0] = FORMAT;
        handle.bytes[1] = node.len() as u8;
        handle.bytes[2..4].copy_from_slice(&tag.0);
        handle.bytes[HEAD_BYTES..HEAD_BYTES + node.len()].copy_from_slice(node);
        let checksum = handle.checksum(key);
        handle.bytes[4..HEAD_BYTES].copy_from_slice(&checksum);
        handle
    }

    /// Parses a handle, which zeros may follow.
    pub(crate) fn parse(bytes: &[u8]) -> Result<WireHandle, HandleError> {
        let mut handle = WireHandle { bytes: [0; Self::MAX_BYTES] };
        handle.bytes.get_mut(..bytes.len()).ok_or(HandleError::Malformed)?.copy_from_slice(bytes);
        let length = handle.len();
        let is_whole =
            handle.bytes[0] == FORMAT && length <= bytes.len() && bytes[length..].iter().all(|byte| *byte == 0);
        if is_whole { Ok(handle) } else { Err(HandleError::Malformed) }
    }

    fn len(&self) -> usize {
        HEAD_BYTES + usize::from(self.bytes[1])
    }

    /// The bytes without padding.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// The bytes padded with zeros, as NFSv2 requires.
    pub(crate) fn padded(&self) -> [u8; Self::MAX_BYTES] {
        self.bytes
    }

    pub(crate) fn tag(&self) -> ExportTag {
        ExportTag([self.bytes[2], self.bytes[3]])
    }

    pub(crate) fn node(&self) -> Handle {
        Handle::new(&self.as_bytes()[HEAD_BYTES..]).expect("parse has checked the length")
    }

    pub(crate) fn is_made_with(&self, key: &HandleKey) -> bool {
        self.bytes[4..HEAD_BYTES] == self.checksum(key)
    }

    fn checksum(&self, key: &HandleKey) -> [u8; 8] {
        let mut covered = self.bytes;
        covered[4..HEAD_BYTES].fill(0);
        key.checksum(&covered[..self.len()]).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle() -> (WireHandle, HandleKey) {
        let key = HandleKey::new([3; 16]).derive(b"name /srv");
        (WireHandle::new(ExportTag::of(b"name /srv"), &Handle::new(b"node 12345").unwrap(), &key), key)
    }

    #[test]
    fn handle_comes_back_with_and_without_zeros_behind() {
        let (handle, key) = handle();
        for bytes in [handle.as_bytes(), &handle.padded()] {
            let parsed = WireHandle::parse(bytes).unwrap();
            assert!(parsed.is_made_with(&key));
            assert_eq!(parsed.node().as_bytes(), b"node 12345");
        }
    }

    #[test]
    fn every_altered_bit_is_refused() {
        let (handle, key) = handle();
        for bit in 0..handle.as_bytes().len() * 8 {
            let mut bytes = handle.as_bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!WireHandle::parse(&bytes).is_ok_and(|altered| altered.is_made_with(&key)), "bit {bit}");
        }
    }

    #[test]
    fn every_cut_is_refused() {
        let (handle, key) = handle();
        for length in 0..handle.as_bytes().len() {
            let cut = WireHandle::parse(&handle.as_bytes()[..length]);
            assert!(!cut.is_ok_and(|cut| cut.is_made_with(&key)), "{length} bytes");
        }
        assert_eq!(WireHandle::parse(&[FORMAT; 65]), Err(HandleError::Malformed));
    }

    #[test]
    fn key_of_another_export_makes_other_handles() {
        let (handle, _) = handle();
        assert!(!handle.is_made_with(&HandleKey::new([3; 16]).derive(b"name /srv2")));
    }
}
