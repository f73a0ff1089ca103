use std::fmt;

use xdr::{Decode, Decoder, Encode, Encoder};

/// A server's name for a file: up to 128 bytes that only the server understands (RFC 7530 §4, `nfs_fh4`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileHandle {
    length: u8,
    bytes: [u8; FileHandle::MAX_BYTES],
}

impl FileHandle {
    /// NFS4_FHSIZE.
    pub const MAX_BYTES: usize = 128;

    /// Makes a handle of `bytes`, or `None` when there are more than 128 of them.
    pub fn new(bytes: &[u8]) -> Option<FileHandle> {
        let mut handle = FileHandle { length: u8::try_from(bytes.len()).ok()?, bytes: [0; Self::MAX_BYTES] };
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(handle)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileHandle(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

impl Encode for FileHandle {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.opaque(self.as_bytes());
    }
}

impl<'a> Decode<'a> for FileHandle {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        let bytes = from.opaque(Self::MAX_BYTES)?;
        let mut handle = FileHandle { length: bytes.len() as u8, bytes: [0; Self::MAX_BYTES] };
        handle.bytes[..bytes.len()].copy_from_slice(bytes);
        Ok(handle)
    }
}
