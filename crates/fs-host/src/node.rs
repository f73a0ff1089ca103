//! A file that is at hand: a descriptor that names it without opening it (`O_PATH`), and what was learnt of it.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use vfs::{Error, FileKind, Name, Result};

use crate::failure::failed;
use crate::posix_acl::CachedAcl;
use crate::proc_path::proc_path;

/// One file, held by a descriptor that cannot read, write or wake a device.
#[derive(Debug)]
pub(crate) struct HostNode {
    fd: OwnedFd,
    kind: FileKind,
    /// Whether its last name is known to be gone.
    is_nameless: AtomicBool,
    /// A directory opened for listing and syncing, once that was needed.
    listing: OnceLock<OwnedFd>,
    /// Held while the listing descriptor's position matters.
    pub(crate) position: Mutex<()>,
    pub(crate) acl: Mutex<Option<CachedAcl>>,
}

impl HostNode {
    /// Makes a node of an `O_PATH` descriptor of a file of this kind.
    pub(crate) fn new(fd: OwnedFd, kind: FileKind) -> HostNode {
        let (is_nameless, listing) = (AtomicBool::new(false), OnceLock::new());
        HostNode { fd, kind, is_nameless, listing, position: Mutex::default(), acl: Mutex::default() }
    }

    /// The kind of file, which never changes.
    pub(crate) fn kind(&self) -> FileKind {
        self.kind
    }

    /// Whether the file was found without a name.
    pub(crate) fn is_nameless(&self) -> bool {
        self.is_nameless.load(Ordering::Relaxed)
    }

    /// Notes that the file has no name left.
    pub(crate) fn lose_name(&self) {
        self.is_nameless.store(true, Ordering::Relaxed);
    }

    /// The descriptor.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Opens this regular file or directory for real.
    pub(crate) fn reopen(&self, flags: OFlags) -> Result<OwnedFd> {
        reopen(self.fd(), flags)
    }

    /// This directory, open for listing and syncing. The first call must be made as the server's own user.
    pub(crate) fn listing(&self) -> Result<BorrowedFd<'_>> {
        if self.listing.get().is_none() {
            let opened = self.reopen(OFlags::RDONLY | OFlags::DIRECTORY)?;
            // When two threads open it at once the second one's descriptor is closed again.
            let _ = self.listing.set(opened);
        }
        self.listing.get().map(AsFd::as_fd).ok_or(Error::Stale)
    }
}

/// Opening a regular file waits neither for the end of a lease nor, if it is something else after all, for a peer; and
/// no terminal is taken.
pub(crate) const OPEN_FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// Opens what `fd` stands for, without naming it a second time: by its entry in /proc, which is a link to the very
/// file.
///
/// Devices and FIFOs must not come here, since opening one can have effects.
pub(crate) fn reopen(fd: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd> {
    rustix::fs::openat(CWD, proc_path(fd).as_c_str(), flags | OPEN_FLAGS, Mode::empty()).map_err(|errno| match errno {
        // A lease of this process or another one is in the way, and has been broken (fcntl(2), F_SETLEASE).
        Errno::AGAIN => Error::TryLater(errno.into()),
        errno => failed(errno),
    })
}

/// A name with a NUL behind it, on the stack.
pub(crate) struct CName {
    bytes: [u8; Name::MAX_BYTES + 1],
    length: usize,
}

impl CName {
    /// Copies a name.
    pub(crate) fn new(name: Name<'_>) -> CName {
        let mut bytes = [0; Name::MAX_BYTES + 1];
        bytes[..name.as_bytes().len()].copy_from_slice(name.as_bytes());
        CName { bytes, length: name.as_bytes().len() }
    }

    /// The name as system calls take it.
    pub(crate) fn as_c_str(&self) -> &CStr {
        // A name has no NUL in it, so the first one is the one behind it.
        CStr::from_bytes_with_nul(&self.bytes[..=self.length]).unwrap_or_default()
    }
}
