//! A TAP device with offload headers.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Error;
use crate::sys::{self, TapOptions};

/// The name of the device, which is alone in its network.
pub(super) const NAME: &str = "tap0";

/// The device, with the kernel behind it.
pub(super) struct Tap {
    device: File,
}

impl Tap {
    /// Creates a device in this thread's network, with the kernel on the other side, and `address` if there is one.
    pub fn new(address: Option<(Ipv4Addr, u8)>, mtu: u16) -> Result<Tap, Error> {
        let device = sys::tap(&TapOptions { name: NAME, mtu, address }).map_err(failed)?;
        Ok(Tap { device })
    }

    /// The kernel's Ethernet address.
    pub fn mac(&self) -> Result<[u8; 6], Error> {
        sys::mac(NAME).map_err(Error::Device)
    }

    /// Hands a frame to the kernel. If the kernel has no room, the frame is lost, as on any network.
    pub fn send(&self, frame: &[u8]) -> Result<(), Error> {
        match (&self.device).write(frame) {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(error) => Err(Error::Device(error)),
        }
    }

    /// The kernel's next frame, if there is one.
    pub fn receive<'a>(&self, buffer: &'a mut [u8]) -> Result<Option<&'a [u8]>, Error> {
        match (&self.device).read(buffer) {
            Ok(length) => Ok(Some(&buffer[..length])),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(Error::Device(error)),
        }
    }

    /// Waits for a frame for at most `most`.
    pub fn wait(&self, most: Duration) -> Result<(), Error> {
        let timeout = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.device, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(Error::Device(errno.into())),
        }
    }
}

pub(super) fn failed(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::PermissionDenied => Error::Permission,
        ErrorKind::NotFound => Error::NoTun,
        _ => Error::Device(error),
    }
}
