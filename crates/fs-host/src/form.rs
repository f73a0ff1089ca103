//! The forms of a handle, told by its first byte:
//!
//! ```text
//! 00                                          the exported directory
//! 01..=df  the kernel's bytes (1 to 19)       the first byte is the kernel's handle type
//! f0       object id (8)  generation (4)      Btrfs, whose 20 bytes would not fit: the subvolume is the export's own
//! f1       id (8)                             a number of the store
//! ```

use vfs::{Error, Handle, Result};

use crate::sys::KernelHandle;

/// The first byte of the exported directory's handle, which has no other.
const ROOT_FORM: u8 = 0x00;
const MAX_KERNEL_TYPE: i32 = 0xdf;
pub(crate) const BTRFS_FORM: u8 = 0xf0;
const STORE_FORM: u8 = 0xf1;

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
pub(crate) fn kernel_handle(kernel: &KernelHandle) -> Option<Handle> {
    let form = u8::try_from(kernel.kind()).ok().filter(|&kind| kind != 0 && i32::from(kind) <= MAX_KERNEL_TYPE)?;
    let bytes = kernel.as_bytes();
    (!bytes.is_empty()).then(|| handle_of(&[&[form], bytes])).flatten()
}

/// The handle of a file of the export's own Btrfs subvolume.
pub(crate) fn btrfs_handle(object: &[u8], generation: &[u8]) -> Option<Handle> {
    handle_of(&[&[BTRFS_FORM], object, generation])
}

/// Takes a handle apart.
pub(crate) fn decode(handle: &Handle) -> Result<Named<'_>> {
    let (&form, bytes) = handle.as_bytes().split_first().ok_or(Error::BadHandle)?;
    match form {
        ROOT_FORM if bytes.is_empty() => Ok(Named::Root),
        BTRFS_FORM if bytes.len() == 12 => Ok(Named::Btrfs(&bytes[..8], &bytes[8..])),
        STORE_FORM => bytes.try_into().map(|id| Named::Stored(u64::from_be_bytes(id))).map_err(|_| Error::BadHandle),
        1.. if i32::from(form) <= MAX_KERNEL_TYPE && !bytes.is_empty() => Ok(Named::Kernel(form, bytes)),
        _ => Err(Error::BadHandle),
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

    #[test]
    fn every_form_is_told_apart_again() {
        let kernel = KernelHandle::new(0x81, &[&[9; 12]]).unwrap();
        assert_eq!(decode(&root_handle()).unwrap(), Named::Root);
        assert_eq!(decode(&stored_handle(7)).unwrap(), Named::Stored(7));
        assert_eq!(decode(&kernel_handle(&kernel).unwrap()).unwrap(), Named::Kernel(0x81, &[9; 12]));
        assert_eq!(decode(&btrfs_handle(&[1; 8], &[2; 4]).unwrap()).unwrap(), Named::Btrfs(&[1; 8], &[2; 4]));
    }

    #[test]
    fn handle_that_was_never_given_is_refused() {
        for bytes in [&[][..], &[0, 1], &[1], &[0xe0, 1, 2], &[0xf0, 1], &[0xf1, 1], &[0xff; 20]] {
            let handle = Handle::new(bytes).unwrap();
            assert!(matches!(decode(&handle), Err(Error::BadHandle)), "{handle:?}");
        }
    }
}
