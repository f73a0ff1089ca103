//! The forms of a handle, told by its first byte:
//!
//! ```text
//! 00                                          the exported directory
//! 01..=df  the kernel's bytes (1 to 19)       the first byte is the kernel's handle type
//! f0       object id (8)  generation (4)      Btrfs, whose 20 bytes would not fit: the subvolume is the export's own
//! f1       id (8)                             a number of the store
//! f2       type (1)  the kernel's bytes       a regular file, if there are at most 18 bytes
//! f3       object id (8)  generation (4)      a regular file of Btrfs
//! ```
//!
//! Handles of regular files say so, because such a file can be opened at once. Of any other handle, the server must
//! look at the file first: to open a device or a FIFO has effects.

use vfs::{Error, Handle, Result};

use crate::sys::KernelHandle;

/// The first byte of the exported directory's handle, which has no other.
const ROOT_FORM: u8 = 0x00;
const MAX_KERNEL_TYPE: i32 = 0xdf;
const BTRFS_FORM: u8 = 0xf0;
const STORE_FORM: u8 = 0xf1;
const REGULAR_FORM: u8 = 0xf2;
const REGULAR_BTRFS_FORM: u8 = 0xf3;

/// What a handle says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named<'a> {
    /// The exported directory.
    Root,
    /// A file by the kernel's handle: its type and bytes.
    Kernel(u8, &'a [u8]),
    /// A file of the export's own Btrfs subvolume: its object id and generation.
    Btrfs(&'a [u8], &'a [u8]),
    /// A file by its number in the store.
    Stored(u64),
}

/// The handle of the exported directory: it needs no file behind it, since the export is open.
pub(crate) fn root_handle() -> Handle {
    handle_of(&[&[ROOT_FORM]]).unwrap_or_else(|| Handle::from_u64(0))
}

/// The handle of a number of the store.
pub(crate) fn stored_handle(id: u64) -> Handle {
    handle_of(&[&[STORE_FORM], &id.to_be_bytes()]).unwrap_or_else(root_handle)
}

/// The handle that wraps the kernel's, or `None` when that is too long or of an unknown type.
pub(crate) fn kernel_handle(kernel: &KernelHandle, is_regular: bool) -> Option<Handle> {
    let form = u8::try_from(kernel.kind()).ok().filter(|&kind| kind != 0 && i32::from(kind) <= MAX_KERNEL_TYPE)?;
    let bytes = kernel.as_bytes();
    if bytes.is_empty() {
        return None;
    }
    let regular = is_regular.then(|| handle_of(&[&[REGULAR_FORM, form], bytes])).flatten();
    regular.or_else(|| handle_of(&[&[form], bytes]))
}

/// The handle of a file of the export's own Btrfs subvolume.
pub(crate) fn btrfs_handle(object: &[u8], generation: &[u8], is_regular: bool) -> Option<Handle> {
    let form = if is_regular { REGULAR_BTRFS_FORM } else { BTRFS_FORM };
    handle_of(&[&[form], object, generation])
}

/// Whether the handle was given to a regular file.
pub(crate) fn is_regular(handle: &Handle) -> bool {
    matches!(handle.as_bytes(), [REGULAR_FORM | REGULAR_BTRFS_FORM, ..])
}

/// Takes a handle apart.
pub(crate) fn decode(handle: &Handle) -> Result<Named<'_>> {
    let (&form, bytes) = handle.as_bytes().split_first().ok_or(Error::BadHandle)?;
    match form {
        ROOT_FORM if bytes.is_empty() => Ok(Named::Root),
        BTRFS_FORM | REGULAR_BTRFS_FORM if bytes.len() == 12 => Ok(Named::Btrfs(&bytes[..8], &bytes[8..])),
        STORE_FORM => bytes.try_into().map(|id| Named::Stored(u64::from_be_bytes(id))).map_err(|_| Error::BadHandle),
        REGULAR_FORM => bytes.split_first().ok_or(Error::BadHandle).and_then(|(&kind, bytes)| kernel(kind, bytes)),
        _ => kernel(form, bytes),
    }
}

fn kernel(kind: u8, bytes: &[u8]) -> Result<Named<'_>> {
    let is_possible = kind != 0 && i32::from(kind) <= MAX_KERNEL_TYPE && !bytes.is_empty();
    if is_possible { Ok(Named::Kernel(kind, bytes)) } else { Err(Error::BadHandle) }
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

    #[test]
    fn every_form_is_told_apart_again() {
        let kernel = KernelHandle::new(0x81, &[&[9; 12]]).unwrap();
        assert_eq!(decode(&root_handle()).unwrap(), Named::Root);
        assert_eq!(decode(&stored_handle(7)).unwrap(), Named::Stored(7));
        for regular in [false, true] {
            let wrapped = kernel_handle(&kernel, regular).unwrap();
            let btrfs = btrfs_handle(&[1; 8], &[2; 4], regular).unwrap();
            assert_eq!(decode(&wrapped).unwrap(), Named::Kernel(0x81, &[9; 12]));
            assert_eq!(decode(&btrfs).unwrap(), Named::Btrfs(&[1; 8], &[2; 4]));
            assert_eq!([is_regular(&wrapped), is_regular(&btrfs)], [regular; 2]);
        }
    }

    #[test]
    fn longest_kernel_handle_fits_and_does_not_tell_its_kind() {
        let kernel = KernelHandle::new(1, &[&[9; 19]]).unwrap();
        let handle = kernel_handle(&kernel, true).unwrap();
        assert_eq!(decode(&handle).unwrap(), Named::Kernel(1, &[9; 19]));
        assert!(!is_regular(&handle));
    }

    #[test]
    fn handle_that_was_never_given_is_refused() {
        let never = [
            &[][..],
            &[0, 1],
            &[1],
            &[0xe0, 1, 2],
            &[0xf0, 1],
            &[0xf1, 1],
            &[0xf2],
            &[0xf2, 1],
            &[0xf2, 0, 1],
            &[0xf2, 0xf2, 1],
            &[0xf3, 1],
            &[0xff; 20],
        ];
        for bytes in never {
            let handle = Handle::new(bytes).unwrap();
            assert!(matches!(decode(&handle), Err(Error::BadHandle)), "{handle:?}");
        }
    }
}
