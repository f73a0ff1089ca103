//! Handles made by the kernel: they name a file by its inode number and generation, wherever it is moved, and go stale
//! when it is gone. Nothing is kept for them, so they survive a restart by themselves.
//!
//! Layout of a handle, by its first byte:
//!
//! ```text
//! 00                                          the exported directory
//! 01..=df  the kernel's bytes (1 to 19)       the first byte is the kernel's handle type
//! f0       object id (8)  generation (4)      Btrfs, whose 20 bytes would not fit: the subvolume is the export's own
//! f1       id (8)                             a number of the store
//! ```
//!
//! A kernel's handle may name any file of the file system and not only those below the exported directory. That it was
//! given out by this server is what the server's keyed checksum says. A file that somebody on the host moves out of the
//! exported directory stays reachable by the handle that was given out before, as with `no_subtree_check` in exports(5).

use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use vfs::{Error, Handle, Result};

use crate::sys::{self, KernelHandle};

/// The first byte of the exported directory's handle, which has no other.
const ROOT_FORM: u8 = 0x00;
const MAX_KERNEL_TYPE: i32 = 0xdf;
const BTRFS_FORM: u8 = 0xf0;
const STORE_FORM: u8 = 0xf1;

/// The handle type of Btrfs without a parent (`FILEID_BTRFS_WITHOUT_PARENT`): object id, root id, generation.
const BTRFS_TYPE: i32 = 0x4d;
const BTRFS_BYTES: usize = 20;

/// What a handle says, in whichever form it is.
#[derive(Debug)]
pub(crate) enum Named {
    /// The exported directory.
    Root,
    /// A file by the kernel's handle.
    Kernel(KernelHandle),
    /// A file by its number in the store.
    Stored(u64),
}

/// Makes and opens kernel handles of one export.
#[derive(Debug)]
pub(crate) struct KernelHandles {
    /// The subvolume of the exported directory, on Btrfs.
    btrfs_root: Option<[u8; 8]>,
}

/// The handle of the exported directory: it needs no file behind it, since the export is open.
pub(crate) fn root_handle() -> Handle {
    handle_of(&[&[ROOT_FORM]]).unwrap_or_else(|| Handle::from_u64(0))
}

/// The handle of a number of the store.
pub(crate) fn stored_handle(id: u64) -> Handle {
    handle_of(&[&[STORE_FORM], &id.to_be_bytes()]).unwrap_or_else(root_handle)
}

impl KernelHandles {
    /// Finds out whether the kernel gives handles on this file system that fit, and opens files by them for us.
    pub(crate) fn probe(root: BorrowedFd<'_>) -> io::Result<KernelHandles> {
        let kernel = sys::name_to_handle(root, c"", sys::EMPTY_PATH)?;
        let btrfs_root = (kernel.kind() == BTRFS_TYPE).then(|| kernel.as_bytes().get(8..16)?.try_into().ok()).flatten();
        let handles = KernelHandles { btrfs_root };
        if handles.encode(&kernel).is_none() {
            return Err(io::Error::from_raw_os_error(libc::EOVERFLOW));
        }
        sys::open_by_handle(root, &kernel, libc::O_PATH | libc::O_CLOEXEC).map(|_| handles)
    }

    /// The handle of `name` in `dir`, or of `dir` itself when the name is empty.
    pub(crate) fn make(&self, dir: BorrowedFd<'_>, name: &CStr) -> Result<Handle> {
        let flags = if name.is_empty() { sys::EMPTY_PATH } else { 0 };
        self.encode(&sys::name_to_handle(dir, name, flags)?).ok_or(Error::NotSupported)
    }

    /// Opens the file that a handle names, as a descriptor that does nothing but name it.
    pub(crate) fn open(&self, root: BorrowedFd<'_>, kernel: &KernelHandle) -> Result<OwnedFd> {
        sys::open_by_handle(root, kernel, libc::O_PATH | libc::O_CLOEXEC).map_err(|error| match error.raw_os_error() {
            // The file system does not know such bytes: altered, or from before it was made anew.
            Some(libc::EINVAL | libc::ENOENT | libc::EOVERFLOW) => Error::Stale,
            _ => error.into(),
        })
    }

    /// Takes a handle apart.
    pub(crate) fn decode(&self, handle: &Handle) -> Result<Named> {
        let (&form, bytes) = handle.as_bytes().split_first().ok_or(Error::BadHandle)?;
        match form {
            ROOT_FORM if bytes.is_empty() => Ok(Named::Root),
            BTRFS_FORM => self.decode_btrfs(bytes).map(Named::Kernel),
            STORE_FORM => {
                bytes.try_into().map(|id| Named::Stored(u64::from_be_bytes(id))).map_err(|_| Error::BadHandle)
            }
            _ if form != ROOT_FORM && i32::from(form) <= MAX_KERNEL_TYPE && !bytes.is_empty() => {
                KernelHandle::new(form.into(), &[bytes]).map(Named::Kernel).ok_or(Error::BadHandle)
            }
            _ => Err(Error::BadHandle),
        }
    }

    fn encode(&self, kernel: &KernelHandle) -> Option<Handle> {
        let bytes = kernel.as_bytes();
        if kernel.kind() == BTRFS_TYPE && bytes.len() == BTRFS_BYTES {
            let is_own_subvolume = self.btrfs_root.is_some_and(|root| root == bytes[8..16]);
            return is_own_subvolume.then(|| handle_of(&[&[BTRFS_FORM], &bytes[..8], &bytes[16..]])).flatten();
        }
        let form = u8::try_from(kernel.kind()).ok().filter(|&kind| kind != 0 && i32::from(kind) <= MAX_KERNEL_TYPE)?;
        (!bytes.is_empty()).then(|| handle_of(&[&[form], bytes])).flatten()
    }

    fn decode_btrfs(&self, bytes: &[u8]) -> Result<KernelHandle> {
        let root = self.btrfs_root.as_ref().ok_or(Error::Stale)?;
        let (object, generation) = bytes.split_at_checked(8).ok_or(Error::BadHandle)?;
        KernelHandle::new(BTRFS_TYPE, &[object, root, generation]).ok_or(Error::BadHandle)
    }
}

fn handle_of(parts: &[&[u8]]) -> Option<Handle> {
    let mut bytes = [0; Handle::MAX_BYTES];
    let mut length = 0;
    for part in parts {
        bytes.get_mut(length..length + part.len())?.copy_from_slice(part);
        length += part.len();
    }
    Handle::new(&bytes[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(handles: &KernelHandles, kernel: &KernelHandle) -> Option<KernelHandle> {
        match handles.decode(&handles.encode(kernel)?) {
            Ok(Named::Kernel(back)) => Some(back),
            _ => None,
        }
    }

    #[test]
    fn btrfs_handle_fits_because_the_subvolume_is_known() {
        let bytes: Vec<u8> = (1..=20).collect();
        let root = bytes[8..16].try_into().unwrap();
        let kernel = KernelHandle::new(BTRFS_TYPE, &[&bytes]).unwrap();
        let back = round_trip(&KernelHandles { btrfs_root: Some(root) }, &kernel).unwrap();
        assert_eq!((back.kind(), back.as_bytes()), (BTRFS_TYPE, &bytes[..]));
        assert!(round_trip(&KernelHandles { btrfs_root: Some([0; 8]) }, &kernel).is_none());
    }

    #[test]
    fn xfs_handle_keeps_its_type_and_bytes() {
        let kernel = KernelHandle::new(0x81, &[&[9; 12]]).unwrap();
        let back = round_trip(&KernelHandles { btrfs_root: None }, &kernel).unwrap();
        assert_eq!((back.kind(), back.as_bytes()), (0x81, &[9; 12][..]));
    }

    #[test]
    fn handle_that_was_never_given_is_refused() {
        let handles = KernelHandles { btrfs_root: None };
        for bytes in [&[][..], &[0, 1], &[1], &[0xe0, 1, 2], &[0xf1, 1], &[0xff; 20]] {
            let handle = Handle::new(bytes).unwrap();
            assert!(matches!(handles.decode(&handle), Err(Error::BadHandle)), "{handle:?}");
        }
    }
}
