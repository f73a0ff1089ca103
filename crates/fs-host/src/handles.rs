//! Which handle a file gets: the kernel's, or a number of the store.

use std::ffi::CStr;
use std::hash::BuildHasher;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::{Statx, StatxFlags};
use vfs::{Error, FileKind, Handle, Result};

use crate::attributes::{device, kind};
use crate::form::{Named, decode, root_handle, stored_handle};
use crate::kernel_handles::KernelHandles;
use crate::node::HostNode;
use crate::store::{Fingerprint, NO_FILEID, ROOT_ID, Store, StoredFile};
use crate::sys;
use crate::volume::HostVolume;

/// The types of handles that begin with a number of 8 bytes: XFS's (`FILEID_INO32_GEN` with `XFS_FILEID_TYPE_64FLAG`)
/// and Btrfs's.
const XFS_TYPE: i32 = 0x81;
const BTRFS_TYPE: i32 = 0x4d;

/// The bytes of a kernel handle's type, in front of its own in the evidence.
const KIND_BYTES: usize = 4;

/// The longest evidence that is kept: a kernel handle's type and bytes.
const MAX_EVIDENCE_BYTES: usize = KIND_BYTES + sys::MAX_KERNEL_HANDLE_BYTES;

/// The ways in which an export names its files.
pub(crate) enum Handles {
    /// By the kernel's handles.
    Kernel(KernelHandles),
    /// By numbers.
    Stored(Box<StoredHandles>),
}

/// Where a file was seen.
#[derive(Clone, Copy)]
pub(crate) struct NameAt<'a> {
    /// The directory's handle.
    pub(crate) dir: &'a Handle,
    /// The directory.
    pub(crate) node: &'a HostNode,
    /// The name in it.
    pub(crate) name: &'a CStr,
}

/// A file that is named by a descriptor and a path from there, which is empty when it is the descriptor's own file.
#[derive(Clone, Copy)]
pub(crate) struct FileAt<'a> {
    pub(crate) fd: BorrowedFd<'a>,
    pub(crate) path: &'a CStr,
    pub(crate) stat: &'a Statx,
}

impl<'a> FileAt<'a> {
    /// The file of a descriptor.
    pub(crate) fn of_fd(fd: &'a impl AsFd, stat: &'a Statx) -> FileAt<'a> {
        FileAt { fd: fd.as_fd(), path: c"", stat }
    }
}

impl Handles {
    /// The handle of a file that was seen somewhere.
    pub(crate) fn make(&self, site: NameAt<'_>, subject: FileAt<'_>) -> Result<Handle> {
        match self {
            Handles::Kernel(kernel) => kernel.make(subject.fd, subject.path, kind(subject.stat)),
            Handles::Stored(stored) => stored.make(site, subject),
        }
    }

    /// The handle of what a name stands for, or `None` when that cannot be told from the name alone: `stat` is one
    /// answer about the name and the handle another, and the name may have passed to another file in between.
    pub(crate) fn make_by_name(&self, site: NameAt<'_>, stat: &Statx) -> Result<Option<Handle>> {
        let subject = FileAt { fd: site.node.fd(), path: site.name, stat };
        match self {
            Handles::Kernel(kernel) => {
                let handle = kernel.make(subject.fd, subject.path, kind(stat))?;
                Ok(is_of_fileid(&handle, stat.stx_ino).then_some(handle))
            }
            Handles::Stored(stored) => stored.make_by_name(site, subject),
        }
    }

    /// What must be the same for a handle to be given out again without asking, besides the file itself.
    ///
    /// The kernel's handle depends on nothing else. Giving out a number writes down where the file was seen, which need
    /// not be done again while the file is seen in the same place and no record was changed.
    pub(crate) fn circumstances(&self, site: NameAt<'_>) -> u64 {
        match self {
            Handles::Kernel(_) => 0,
            Handles::Stored(stored) => stored.sightings.hash_one((site.dir, site.name, stored.store.moves())),
        }
    }

    /// Whether a file with these attributes may be known under its circumstances: the store keeps one of several names,
    /// whichever is left.
    pub(crate) fn may_be_known(&self, stat: &Statx) -> bool {
        match self {
            Handles::Kernel(_) => true,
            Handles::Stored(_) => is_only_name(stat),
        }
    }

    /// What all views have in common whose handles are the same: the numbers of a store are its export's own, and the
    /// kernel's handles are the same wherever a file is reached from.
    pub(crate) fn storage(&self, volume: &HostVolume) -> Option<u64> {
        matches!(self, Handles::Kernel(_)).then_some(volume.device)
    }

    /// The store, when numbers are given out.
    pub(crate) fn stored(&self) -> Option<&StoredHandles> {
        match self {
            Handles::Kernel(_) => None,
            Handles::Stored(stored) => Some(stored),
        }
    }
}

/// Numbers from a store, and how files are recognised.
pub(crate) struct StoredHandles {
    pub(crate) store: Arc<Store>,
    evidence: Evidence,
    device: u64,
    /// Hashes places.
    sightings: foldhash::fast::RandomState,
}

/// What shows that a file is not a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// The kernel's handle, which has the inode's generation in it. Asking for it needs no privilege.
    Handle,
    /// A handle that only identifies (Linux 6.6): for file systems that cannot open by handle, such as overlays.
    Identifier,
    /// The time when the file was made.
    Created,
}

impl StoredHandles {
    /// Finds out what there is to recognise files by.
    pub(crate) fn new(store: Arc<Store>, root: BorrowedFd<'_>, device: u64) -> StoredHandles {
        let evidence = if sys::name_to_handle(root, c"", sys::EMPTY_PATH).is_ok() {
            Evidence::Handle
        } else if sys::name_to_handle(root, c"", sys::EMPTY_PATH | sys::IDENTIFY_ONLY).is_ok() {
            Evidence::Identifier
        } else {
            Evidence::Created
        };
        StoredHandles { store, evidence, device, sightings: foldhash::fast::RandomState::default() }
    }

    /// What a file is recognised by.
    pub(crate) fn fingerprint(&self, subject: FileAt<'_>) -> Result<Fingerprint> {
        let evidence = match self.evidence {
            Evidence::Handle => handle_evidence(subject, 0)?,
            Evidence::Identifier => handle_evidence(subject, sys::IDENTIFY_ONLY)?,
            Evidence::Created => created_evidence(subject.stat),
        };
        // An overlay has files of several devices. Their numbers change with each mount: other evidence counts more.
        let device = Some(device(subject.stat)).filter(|device| evidence.is_empty() && *device != self.device);
        let found = Fingerprint { fileid: subject.stat.stx_ino, device: device.unwrap_or(0), evidence };
        Ok(self.lasting(&found, kind(subject.stat)))
    }

    /// A fingerprint without what a next mount may change: an overlay gives its directories other inode numbers.
    fn lasting(&self, found: &Fingerprint, kind: FileKind) -> Fingerprint {
        let has_fileid = self.evidence != Evidence::Identifier || kind != FileKind::Directory;
        Fingerprint { fileid: if has_fileid { found.fileid } else { NO_FILEID }, ..found.clone() }
    }

    /// The number of a directory in records.
    pub(crate) fn id_of(handle: &Handle) -> Result<u64> {
        match decode(handle)? {
            Named::Root => Ok(ROOT_ID),
            Named::Stored(id) => Ok(id),
            Named::Kernel(..) | Named::Btrfs(..) => Err(Error::Stale),
        }
    }

    /// The handle of a number in records.
    pub(crate) fn handle_of(id: u64) -> Handle {
        if id == ROOT_ID { root_handle() } else { stored_handle(id) }
    }

    /// Writes down where a file is, when it was moved.
    pub(crate) fn moved(&self, handle: &Handle, to: NameAt<'_>) -> Result<()> {
        if let Some(known) = self.store.record(Self::id_of(handle)?).map_err(Error::Io)? {
            let moved = StoredFile { parent: Self::id_of(to.dir)?, name: to.name.to_bytes().to_vec(), ..known };
            self.store.put(moved).map_err(Error::Io)?;
        }
        Ok(())
    }

    /// Writes down what a file at hand is recognised by now: an overlay makes another file of it when it is first
    /// changed.
    pub(crate) fn reaffirm(&self, handle: &Handle, subject: FileAt<'_>) -> Result<()> {
        let fingerprint = self.fingerprint(subject)?;
        match self.store.record(Self::id_of(handle)?).map_err(Error::Io)? {
            Some(known) if known.fingerprint != fingerprint => {
                self.store.put(StoredFile { fingerprint, ..known }).map_err(Error::Io)
            }
            _ => Ok(()),
        }
    }

    /// Forgets a file whose last name is gone. Where only a time tells it from a later file with its number, the record
    /// must not outlive a kill.
    pub(crate) fn gone(&self, handle: &Handle) -> Result<()> {
        self.store.forget_removed(Self::id_of(handle)?).map_err(Error::Io)?;
        if self.evidence == Evidence::Created { self.store.flush_all().map_err(Error::Io) } else { Ok(()) }
    }

    fn make(&self, site: NameAt<'_>, subject: FileAt<'_>) -> Result<Handle> {
        self.number(site, subject, self.fingerprint(subject)?)
    }

    fn make_by_name(&self, site: NameAt<'_>, subject: FileAt<'_>) -> Result<Option<Handle>> {
        if self.evidence == Evidence::Identifier {
            return Ok(None);
        }
        let fingerprint = self.fingerprint(subject)?;
        let (kind, bytes) = fingerprint.evidence.split_first_chunk::<KIND_BYTES>().unwrap_or((&[0; KIND_BYTES], &[]));
        // The time when a file was made comes in one answer with its number.
        let is_one_file =
            self.evidence == Evidence::Created || shows_fileid(i32::from_le_bytes(*kind), bytes, fingerprint.fileid);
        if is_one_file { self.number(site, subject, fingerprint).map(Some) } else { Ok(None) }
    }

    fn number(&self, site: NameAt<'_>, subject: FileAt<'_>, fingerprint: Fingerprint) -> Result<Handle> {
        let (parent, name) = (Self::id_of(site.dir)?, site.name.to_bytes().to_vec());
        let seen = StoredFile { id: 0, parent, name, fingerprint };
        self.store.id(seen, is_only_name(subject.stat)).map(stored_handle).map_err(Error::Io)
    }
}

fn is_only_name(stat: &Statx) -> bool {
    stat.stx_nlink == 1 || kind(stat) == FileKind::Directory
}

/// Whether a handle that wraps the kernel's is of the inode with this number.
fn is_of_fileid(handle: &Handle, fileid: u64) -> bool {
    match decode(handle) {
        Ok(Named::Kernel(kind, bytes)) => shows_fileid(kind.into(), bytes, fileid),
        Ok(Named::Btrfs(object, _)) => shows_fileid(BTRFS_TYPE, object, fileid),
        Ok(Named::Root | Named::Stored(_)) | Err(_) => false,
    }
}

/// Whether a kernel handle of this type is of the inode with this number. Where the layout is not known, the low half
/// of the number in the first or the second word has to do.
fn shows_fileid(kind: i32, handle: &[u8], fileid: u64) -> bool {
    let word = |start: usize| handle.get(start..start + 4)?.try_into().ok().map(u32::from_ne_bytes);
    let long = |start: usize| handle.get(start..start + 8)?.try_into().ok().map(u64::from_ne_bytes);
    let low = Some(fileid as u32);
    match (kind, handle.len()) {
        // `FILEID_INO32_GEN`: ext4, and XFS with small numbers.
        (1, 8) => word(0).map(u64::from) == Some(fileid),
        // tmpfs: generation, number.
        (1, 12) => long(4) == Some(fileid),
        (XFS_TYPE | BTRFS_TYPE, _) => long(0) == Some(fileid),
        _ => word(0) == low || word(4) == low,
    }
}

fn handle_evidence(subject: FileAt<'_>, flags: i32) -> Result<Vec<u8>> {
    let empty = if subject.path.is_empty() { sys::EMPTY_PATH } else { 0 };
    let handle = sys::name_to_handle(subject.fd, subject.path, flags | empty)?;
    let mut evidence = Vec::with_capacity(MAX_EVIDENCE_BYTES);
    evidence.extend_from_slice(&handle.kind().to_le_bytes());
    evidence.extend_from_slice(handle.as_bytes());
    Ok(evidence)
}

/// A file system that keeps no such time gives no evidence: there a number that is used again goes unnoticed.
fn created_evidence(stat: &Statx) -> Vec<u8> {
    if stat.stx_mask & StatxFlags::BTIME.bits() == 0 {
        return Vec::new();
    }
    let mut evidence = stat.stx_btime.tv_sec.to_le_bytes().to_vec();
    evidence.extend_from_slice(&stat.stx_btime.tv_nsec.to_le_bytes());
    evidence
}
