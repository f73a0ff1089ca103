use std::os::fd::AsFd;
use std::sync::Arc;

use crate::{Attributes, Context, Error, Result};

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpenMode {
    /// For reading only.
    Read,
    /// For reading and writing.
    Write,
}

/// How safe written bytes are when the call returns, weakest first (RFC 1813 §3.3.7, `stable_how`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stability {
    /// They may still be lost with the machine.
    Unstable,
    /// The bytes and what is needed to find them are on stable storage.
    Data,
    /// The bytes and all attributes are on stable storage.
    File,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// How many of the bytes were written.
    pub count: usize,
    /// How safe they are: at least what was asked for.
    pub stability: Stability,
}

/// A file of the operating system, kept open while a reply sends from it.
pub type HostFile = Arc<dyn AsFd + Send + Sync>;

/// An open regular file. It stays usable when its last name is removed, and several threads may use it at once.
pub trait OpenFile: Send + Sync {
    /// Reads from `offset_bytes` on into `into`, and says how many bytes that was.
    ///
    /// Fewer bytes than `into` holds means that the end of the file was met, and nothing else.
    ///
    /// # Errors
    /// [`Error::WouldBlock`](crate::Error::WouldBlock) when the bytes are not at hand and `cx` may not wait; whatever the
    /// storage says.
    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize>;

    /// Writes `data` from `offset_bytes` on, extending the file where needed, at least as safely as `stability`.
    ///
    /// # Errors
    /// An error means that nothing of `data` may be relied on; a part that was written is a success with a small count.
    /// [`Error::ReadOnly`] without an override.
    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        let _ = (cx, offset_bytes, data, stability);
        Err(Error::ReadOnly)
    }

    /// Brings everything that was written to this file, by whomever, to stable storage.
    ///
    /// # Errors
    /// An error means that earlier unstable writes may be lost: the server then changes its write verifier. Without an
    /// override there is nothing to bring anywhere, as nothing can be written.
    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        let _ = cx;
        Ok(())
    }

    /// The attributes as they are now.
    ///
    /// # Errors
    /// Whatever the storage says.
    fn attributes(&self, cx: &Context<'_>) -> Result<Attributes>;

    /// The operating system's file behind this one, where there is one, so that bytes can be sent without a copy.
    fn host_file(&self) -> Option<HostFile> {
        None
    }
}
