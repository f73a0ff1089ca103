//! The descriptor of `/dev/fuse` that a mount belongs to.

use std::io::IoSlice;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

/// What came of waiting for a request.
pub(crate) enum Received {
    /// A request of so many bytes.
    Request(usize),
    /// There will be no more: it was unmounted, or the connection was cut.
    End,
}

/// How often reading may fail in a row, with an error that is not known to end a mount, before it counts as the end.
const MAX_FAILURES: u32 = 100;

/// The descriptor.
#[derive(Debug)]
pub(crate) struct Device(pub(crate) OwnedFd);

impl Device {
    /// Waits for the next request.
    pub(crate) fn receive(&self, into: &mut [u8]) -> Received {
        for _ in 0..MAX_FAILURES {
            match rustix::io::read(&self.0, &mut *into) {
                Ok(count) if count > 0 => return Received::Request(count),
                Ok(_) | Err(Errno::NODEV | Errno::CONNABORTED) => return Received::End,
                // A request that went away before it could be copied, or a signal.
                Err(_) => {}
            }
        }
        tracing::error!("reading /dev/fuse fails again and again: the mount ends");
        Received::End
    }

    /// Sends one message, which may be in pieces.
    ///
    /// # Errors
    /// ENOENT when nobody waits for the reply any more.
    pub(crate) fn send(&self, message: &[IoSlice<'_>]) -> Result<(), Errno> {
        loop {
            match rustix::io::writev(&self.0, message) {
                Err(Errno::INTR) => {}
                other => return other.map(drop),
            }
        }
    }
}
