//! The descriptor of `/dev/fuse` for a mount.

use std::io::IoSlice;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

/// The result of waiting for a request.
pub(crate) enum Received {
    /// A request of so many bytes.
    Request(usize),
    /// No more requests: it was unmounted, or the connection was aborted.
    End,
}

/// How often reading may fail in a row, with errors that need not end a mount, before the mount ends.
const MAX_FAILURES: u32 = 100;

#[derive(Debug)]
pub(crate) struct Device(pub(crate) OwnedFd);

impl Device {
    /// Waits for the next request.
    pub(crate) fn receive(&self, into: &mut [u8]) -> Received {
        for _ in 0..MAX_FAILURES {
            match rustix::io::read(&self.0, &mut *into) {
                Ok(count) if count > 0 => return Received::Request(count),
                Ok(_) | Err(Errno::NODEV | Errno::CONNABORTED) => return Received::End,
                // The request was aborted before it could be copied, or a signal came.
                Err(_) => {}
            }
        }
        tracing::error!("reading /dev/fuse keeps failing: the mount ends");
        Received::End
    }

    /// Sends one message, which may be in pieces.
    ///
    /// # Errors
    /// ENOENT if nobody waits for the reply any more.
    pub(crate) fn send(&self, message: &[IoSlice<'_>]) -> Result<(), Errno> {
        loop {
            match rustix::io::writev(&self.0, message) {
                Err(Errno::INTR) => {}
                other => return other.map(drop),
            }
        }
    }
}
