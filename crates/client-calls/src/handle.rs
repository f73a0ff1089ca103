use std::fmt;
use std::hash::{Hash, Hasher};

use proto::{nfs2, nfs3, nfs4};

/// A server's handle of a file, in any version: up to [`Handle::MAX_BYTES`] opaque bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Handle {
    length: u8,
    bytes: [u8; Handle::MAX_BYTES],
}

impl Handle {
    /// The longest handle of any version, in bytes (RFC 7530 §1.2, NFS4_FHSIZE).
    pub const MAX_BYTES: usize = 128;

    /// Makes a handle of `bytes`, or `None` if there are too many.
    pub fn new(bytes: &[u8]) -> Option<Handle> {
        let mut handle = Handle { length: u8::try_from(bytes.len()).ok()?, bytes: [0; Self::MAX_BYTES] };
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(handle)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Hashes only the used bytes, because handles are keys of caches. Equal handles have equal bytes.
impl Hash for Handle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

impl From<nfs3::FileHandle> for Handle {
    fn from(handle: nfs3::FileHandle) -> Handle {
        let length = handle.as_bytes().len();
        let mut bytes = [0; Self::MAX_BYTES];
        bytes[..length].copy_from_slice(handle.as_bytes());
        Handle { length: length as u8, bytes }
    }
}

impl From<Handle> for nfs4::FileHandle {
    fn from(handle: Handle) -> nfs4::FileHandle {
        // It has room for the handle of any version.
        nfs4::FileHandle::new(handle.as_bytes()).unwrap_or_else(|| unreachable!("{handle:?} fits"))
    }
}

impl From<nfs4::FileHandle> for Handle {
    fn from(handle: nfs4::FileHandle) -> Handle {
        let length = handle.as_bytes().len();
        let mut bytes = [0; Self::MAX_BYTES];
        bytes[..length].copy_from_slice(handle.as_bytes());
        Handle { length: length as u8, bytes }
    }
}

impl From<nfs2::FileHandle> for Handle {
    fn from(handle: nfs2::FileHandle) -> Handle {
        let mut bytes = [0; Self::MAX_BYTES];
        bytes[..nfs2::FileHandle::BYTES].copy_from_slice(&handle.0);
        Handle { length: nfs2::FileHandle::BYTES as u8, bytes }
    }
}
