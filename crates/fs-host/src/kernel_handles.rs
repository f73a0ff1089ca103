//! Handles made by the kernel: they name a file by its inode number and generation, wherever it is moved, and go stale
//! when it is gone. Nothing is kept for them, so they survive a restart by themselves.
//!
//! A kernel's handle may name any file of the file system and not only those below the exported directory. That it was
//! given out by this server is what the server's keyed checksum says. A file that somebody on the host moves out of the
//! exported directory stays reachable by the handle that was given out before, as with `no_subtree_check` in
//! exports(5).

use std::ffi::CStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

use vfs::{Context, Error, FileKind, Handle, Result};

use crate::form::{Named, btrfs_handle, kernel_handle};
use crate::sys::{self, KernelHandle};

/// The handle type of Btrfs without a parent (`FILEID_BTRFS_WITHOUT_PARENT`): object id, root id, generation.
const BTRFS_TYPE: i32 = 0x4d;
const BTRFS_BYTES: usize = 20;

/// How long to wait for the creation of a file that has the inode number of a removed one: it may wait for storage.
const PAUSE: Duration = Duration::from_millis(1);
const PAUSES: u32 = 100;

/// Makes and opens kernel handles of one export.
#[derive(Debug)]
pub(crate) struct KernelHandles {
    /// The subvolume of the exported directory, on Btrfs.
    btrfs_root: Option<[u8; 8]>,
}

impl KernelHandles {
    /// Finds out whether the kernel gives handles on this file system that fit, and opens files by them for us.
    pub(crate) fn probe(root: BorrowedFd<'_>) -> io::Result<KernelHandles> {
        let kernel = sys::name_to_handle(root, c"", sys::EMPTY_PATH)?;
        let is_btrfs = kernel.kind() == BTRFS_TYPE && kernel.as_bytes().len() == BTRFS_BYTES;
        let btrfs_root = is_btrfs.then(|| kernel.as_bytes()[8..16].try_into().ok()).flatten();
        let handles = KernelHandles { btrfs_root };
        if handles.encode(&kernel, false).is_none() {
            return Err(io::Error::from_raw_os_error(libc::EOVERFLOW));
        }
        open(root, &kernel).map(|_| handles)
    }

    /// The handle of `name` in `dir`, or of `dir` itself when the name is empty: a file of this kind.
    pub(crate) fn make(&self, dir: BorrowedFd<'_>, name: &CStr, kind: FileKind) -> Result<Handle> {
        let flags = if name.is_empty() { sys::EMPTY_PATH } else { 0 };
        let kernel = sys::name_to_handle(dir, name, flags)?;
        self.encode(&kernel, kind == FileKind::Regular).ok_or(Error::NotSupported)
    }

    /// The kernel's handle in a handle of this export.
    ///
    /// # Errors
    /// [`Error::BadHandle`] for a handle that never was one; [`Error::Stale`] for one that was given out when the
    /// export named its files in another way.
    pub(crate) fn kernel_handle(&self, named: &Named<'_>) -> Result<KernelHandle> {
        let kernel = match *named {
            Named::Kernel(kind, bytes) => KernelHandle::new(kind.into(), &[bytes]),
            Named::Btrfs(object, generation) => {
                let subvolume = self.btrfs_root.as_ref().ok_or(Error::Stale)?;
                KernelHandle::new(BTRFS_TYPE, &[object, subvolume, generation])
            }
            Named::Root | Named::Stored(_) => return Err(Error::Stale),
        };
        kernel.ok_or(Error::BadHandle)
    }

    /// Opens the file of a handle, as a descriptor that does nothing but name it.
    pub(crate) fn open(&self, cx: &Context<'_>, root: BorrowedFd<'_>, named: &Named<'_>) -> Result<OwnedFd> {
        let kernel = self.kernel_handle(named)?;
        // Linux reports ESTALE also when it cannot read the inode. A second attempt reads it again.
        let opened = unless_reused(cx, || match open(root, &kernel) {
            Err(error) if error.raw_os_error() == Some(libc::ESTALE) => open(root, &kernel),
            opened => opened,
        });
        // What the file system does not know is stale: bytes of a file that is gone, or from before the file system was
        // made again.
        opened.map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL | libc::ENOENT | libc::EOVERFLOW) => Error::Stale,
            _ => error.into(),
        })
    }

    fn encode(&self, kernel: &KernelHandle, is_regular: bool) -> Option<Handle> {
        let bytes = kernel.as_bytes();
        if kernel.kind() == BTRFS_TYPE && bytes.len() == BTRFS_BYTES {
            let is_own_subvolume = self.btrfs_root.is_some_and(|root| root == bytes[8..16]);
            return is_own_subvolume.then(|| btrfs_handle(&bytes[..8], &bytes[16..], is_regular)).flatten();
        }
        kernel_handle(kernel, is_regular)
    }
}

/// Opens again, after a pause, while the kernel reports ENOMEM. ext4 reports it not only when memory is missing, but
/// also for the handle of a removed file while another file is created with its inode number (seen with Linux 6.18, for
/// 40 µs): then the next attempt ends with ESTALE. A thread that may not wait gets EAGAIN instead.
fn unless_reused<T>(cx: &Context<'_>, mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..PAUSES {
        match open() {
            Err(error) if error.raw_os_error() != Some(libc::ENOMEM) => return Err(error),
            Err(_) if !cx.may_block => return Err(io::Error::from_raw_os_error(libc::EAGAIN)),
            Err(_) => thread::sleep(PAUSE),
            opened => return opened,
        }
    }
    open()
}

fn open(root: BorrowedFd<'_>, kernel: &KernelHandle) -> io::Result<OwnedFd> {
    sys::open_by_handle(root, kernel, libc::O_PATH | libc::O_CLOEXEC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::decode;

    const ENOMEM: i32 = libc::ENOMEM;

    /// Opens with these errors, one after the other. Returns the error and how many are left.
    fn open_with(cx: Context<'_>, errors: &[i32]) -> (Option<i32>, usize) {
        let mut left = errors.iter();
        let opened =
            unless_reused(&cx, || left.next().map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(*errno))));
        (opened.err().and_then(|error| error.raw_os_error()), left.len())
    }

    #[test]
    fn handle_of_a_removed_file_is_stale_also_while_its_inode_number_is_used_again() {
        assert_eq!(open_with(Context::ROOT, &[ENOMEM, ENOMEM, libc::ESTALE]), (Some(libc::ESTALE), 0));
        assert_eq!(open_with(Context::ROOT, &[ENOMEM]), (None, 0));
        assert_eq!(open_with(Context::ROOT, &[libc::EIO, ENOMEM]), (Some(libc::EIO), 1));
    }

    #[test]
    fn inode_number_that_is_used_again_keeps_no_thread_waiting_that_may_not() {
        let cx = Context { may_block: false, ..Context::ROOT };
        assert_eq!(open_with(cx, &[ENOMEM, libc::ESTALE]), (Some(libc::EAGAIN), 1));
    }

    #[test]
    fn lack_of_memory_that_lasts_is_reported() {
        assert_eq!(open_with(Context::ROOT, &[ENOMEM; PAUSES as usize + 2]), (Some(ENOMEM), 1));
    }

    #[test]
    fn btrfs_handle_fits_because_the_subvolume_is_known() {
        let bytes: Vec<u8> = (1..=20).collect();
        let kernel = KernelHandle::new(BTRFS_TYPE, &[&bytes]).unwrap();
        let own = KernelHandles { btrfs_root: bytes[8..16].try_into().ok() };
        let handle = own.encode(&kernel, false).unwrap();
        assert_eq!(decode(&handle).unwrap(), Named::Btrfs(&bytes[..8], &bytes[16..]));
        assert!(KernelHandles { btrfs_root: Some([0; 8]) }.encode(&kernel, false).is_none());
    }
}
