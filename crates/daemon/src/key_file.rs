//! The file with the key that authenticates file handles.
//!
//! ```text
//! "wharf key 1\n"  (12)   key (16)   checksum of both (8)
//! ```
//!
//! Earlier versions wrote the 16 bytes of the key alone. An invalid key is refused and never replaced: another key
//! would make all handles of clients stale, and a guessable one would let clients forge handles.

use server::HandleKey;

use crate::records::checksum;

const MAGIC: &[u8; 12] = b"wharf key 1\n";
const KEY_END: usize = MAGIC.len() + HandleKey::BYTES;

/// The length of the file.
const FILE_BYTES: usize = KEY_END + 8;

/// A key with this many equal bytes is refused; a random key has them once in 10¹² cases.
const MAX_EQUAL_BYTES: usize = HandleKey::BYTES / 2;

/// Why a file has no valid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyFlaw {
    /// Its length is wrong.
    #[error("it has {0} bytes, and a key has {FILE_BYTES}, or {old} of earlier versions", old = HandleKey::BYTES)]
    Length(usize),
    /// Its checksum is wrong.
    #[error("its checksum is wrong")]
    Checksum,
    /// The key can be guessed.
    #[error("the key consists of zeros or other equal bytes")]
    Guessable,
}

/// The contents of the file for a key.
pub(crate) fn encode(key: [u8; HandleKey::BYTES]) -> [u8; FILE_BYTES] {
    let mut bytes = [0; FILE_BYTES];
    bytes[..MAGIC.len()].copy_from_slice(MAGIC);
    bytes[MAGIC.len()..KEY_END].copy_from_slice(&key);
    let sum = checksum(&bytes[..KEY_END]);
    bytes[KEY_END..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Reads the key from the contents of a file.
pub(crate) fn parse(bytes: &[u8]) -> Result<[u8; HandleKey::BYTES], KeyFlaw> {
    let key = match bytes.strip_prefix(MAGIC) {
        Some(_) if bytes.len() != FILE_BYTES => return Err(KeyFlaw::Length(bytes.len())),
        Some(_) if checksum(&bytes[..KEY_END]).to_le_bytes() != bytes[KEY_END..] => return Err(KeyFlaw::Checksum),
        Some(behind) => &behind[..HandleKey::BYTES],
        None => bytes,
    };
    let key: [u8; HandleKey::BYTES] = key.try_into().map_err(|_| KeyFlaw::Length(bytes.len()))?;
    let is_frequent = |byte: &u8| key.iter().filter(|other| *other == byte).count() >= MAX_EQUAL_BYTES;
    if key.iter().any(is_frequent) { Err(KeyFlaw::Guessable) } else { Ok(key) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; HandleKey::BYTES] = *b"\x8f\x11\x2a\xc3\x04\x55\x60\x77\x98\x19\xaa\x0b\xfc\x2d\xee\x31";

    #[test]
    fn key_comes_back_and_so_does_one_of_earlier_versions() {
        assert_eq!(parse(&encode(KEY)), Ok(KEY));
        assert_eq!(parse(&KEY), Ok(KEY));
    }

    #[test]
    fn file_with_any_bit_flipped_or_cut_anywhere_is_no_key() {
        let whole = encode(KEY);
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&bytes).is_err(), "bit {bit}");
        }
        for length in (0..whole.len()).filter(|length| *length != HandleKey::BYTES) {
            assert!(parse(&whole[..length]).is_err(), "{length} bytes");
        }
        assert!(parse(&[&whole[..], &[0]].concat()).is_err());
    }

    #[test]
    fn key_that_can_be_guessed_is_refused_in_both_forms() {
        let mut half = KEY;
        half[8..].fill(0);
        for key in [[0; HandleKey::BYTES], [0xff; HandleKey::BYTES], half] {
            assert_eq!(parse(&key), Err(KeyFlaw::Guessable));
            assert_eq!(parse(&encode(key)), Err(KeyFlaw::Guessable));
        }
    }

    #[test]
    fn file_of_zeros_is_no_key() {
        assert!(parse(&[0; FILE_BYTES]).is_err());
    }
}
