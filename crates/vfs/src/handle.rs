use std::fmt;
use std::hash::{Hash, Hasher};

/// A file system's name for one file: at most [`Handle::MAX_BYTES`] opaque bytes.
///
/// The bound is what lets every protocol version carry a handle: the 32 bytes of an NFSv2 handle (RFC 1094 §2.3.3)
/// less the 12 that the server adds for the export and its checksum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle {
    length: u8,
    bytes: [u8; Handle::MAX_BYTES],
}

impl Handle {
    /// The longest handle, in bytes.
    pub const MAX_BYTES: usize = 20;

    /// Makes a handle of `bytes`, or `None` if there are more than [`Handle::MAX_BYTES`].
    pub fn new(bytes: &[u8]) -> Option<Handle> {
        let mut handle = Handle { length: u8::try_from(bytes.len()).ok()?, bytes: [0; Self::MAX_BYTES] };
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(handle)
    }

    /// Makes a handle of a number, for file systems that number their files.
    pub fn from_u64(id: u64) -> Handle {
        let mut handle = Handle { length: 8, bytes: [0; Self::MAX_BYTES] };
        handle.bytes[..8].copy_from_slice(&id.to_be_bytes());
        handle
    }

    /// The number from [`Handle::from_u64`], or `None` for a handle of another length.
    pub fn to_u64(&self) -> Option<u64> {
        self.as_bytes().try_into().ok().map(u64::from_be_bytes)
    }

    /// The bytes of this handle.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Hashes whole words, because every call looks up its file by handle. The bytes behind the length are zeros, so equal
/// handles have equal words.
impl Hash for Handle {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (words, rest) = self.bytes.as_chunks::<8>();
        words.iter().for_each(|word| state.write_u64(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        last[7] = self.length;
        state.write_u64(u64::from_le_bytes(last));
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use super::*;

    #[test]
    fn handle_of_twenty_bytes_is_the_longest() {
        assert!(Handle::new(&[7; 20]).is_some());
        assert!(Handle::new(&[7; 21]).is_none());
    }

    #[test]
    fn equal_handles_have_equal_hashes_and_length_and_every_byte_count() {
        let hash = |bytes: &[u8]| BuildHasherDefault::<DefaultHasher>::default().hash_one(Handle::new(bytes).unwrap());
        let bytes: Vec<u8> = (1..=20).collect();
        assert_eq!(hash(&bytes), hash(&bytes));
        assert_ne!(hash(&[0; 19]), hash(&[0; 20]));
        for changed in 0..20 {
            let mut other = bytes.clone();
            other[changed] ^= 1;
            assert_ne!(hash(&bytes), hash(&other), "byte {changed}");
        }
    }

    #[test]
    fn number_comes_back_out_of_its_handle() {
        assert_eq!(Handle::from_u64(0x0102_0304_0506_0708).to_u64(), Some(0x0102_0304_0506_0708));
        assert_eq!(Handle::new(b"abc").and_then(|h| h.to_u64()), None);
    }
}
