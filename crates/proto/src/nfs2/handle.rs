use std::fmt;

use xdr::{Decode, Encode};

/// A file handle: 32 bytes that are opaque to clients (RFC 1094 §2.3.3, `fhandle`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct FileHandle(pub [u8; FileHandle::BYTES]);

impl FileHandle {
    /// FHSIZE.
    pub const BYTES: usize = 32;
}

impl fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileHandle(")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}
