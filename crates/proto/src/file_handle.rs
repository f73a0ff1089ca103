use std::fmt;

use xdr::{Decode, Decoder, Encode, Encoder};

/// A file handle: up to `MAX` bytes that are opaque to clients (RFC 1813 §2.3.3, `nfs_fh3`; RFC 8881 §3.2, `nfs_fh4`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileHandle<const MAX: usize> {
    length: u8,
    bytes: [u8; MAX],
}

impl<const MAX: usize> FileHandle<MAX> {
    /// The longest handle, in bytes.
    pub const MAX_BYTES: usize = MAX;

    /// Makes a handle of `bytes`, or `None` when there are too many of them.
    pub fn new(bytes: &[u8]) -> Option<FileHandle<MAX>> {
        let mut handle = FileHandle { length: u8::try_from(bytes.len()).ok()?, bytes: [0; MAX] };
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(handle)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl<const MAX: usize> fmt::Debug for FileHandle<MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileHandle(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

impl<const MAX: usize> Encode for FileHandle<MAX> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.opaque(self.as_bytes());
    }
}

impl<'a, const MAX: usize> Decode<'a> for FileHandle<MAX> {
    fn decode(from: &mut Decoder<'a>) -> xdr::Result<Self> {
        let bytes = from.opaque(MAX)?;
        let mut handle = FileHandle { length: bytes.len() as u8, bytes: [0; MAX] };
        handle.bytes[..bytes.len()].copy_from_slice(bytes);
        Ok(handle)
    }
}
