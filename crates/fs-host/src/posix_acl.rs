//! POSIX access lists as the kernel keeps them: `system.posix_acl_access` and `system.posix_acl_default`.

use std::ffi::CStr;
use std::os::fd::BorrowedFd;

use rustix::fs::XattrFlags;
use rustix::io::Errno;
use vfs::{Access, AclEntry, AclTag, Error, PosixAcl, Result, Timestamp};

use crate::failure::failed;
use crate::proc_path::proc_path;

const ACCESS: &CStr = c"system.posix_acl_access";
const DEFAULT: &CStr = c"system.posix_acl_default";
const VERSION: u32 = 2;
const ENTRY_BYTES: usize = 8;

/// The longest list that is read, in bytes: the longest extended attribute that Linux has.
const MAX_ACL_BYTES: usize = 65_536;

/// Room for a list of usual length, on the stack.
const USUAL_ACL_BYTES: usize = 1024;

const OWNER: u16 = 0x01;
const USER: u16 = 0x02;
const OWNING_GROUP: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// The number of an entry that is about nobody in particular.
const NO_ID: u32 = u32::MAX;

/// The access list that a file had when its change time was this; `None` when the permission bits say everything.
#[derive(Debug, Clone)]
pub(crate) struct CachedAcl {
    /// The file's change time when the list was read.
    pub(crate) changed: Timestamp,
    /// The list.
    pub(crate) acl: Option<PosixAcl>,
}

/// Reads the access list of what `fd` stands for.
pub(crate) fn read_access(fd: BorrowedFd<'_>) -> Result<Option<PosixAcl>> {
    read(fd, ACCESS)
}

/// Reads the list that new files in the directory `fd` inherit.
pub(crate) fn read_default(fd: BorrowedFd<'_>) -> Result<Option<PosixAcl>> {
    read(fd, DEFAULT)
}

/// Whether the file system that `fd` is on keeps access lists at all.
pub(crate) fn is_supported(fd: BorrowedFd<'_>) -> bool {
    let mut bytes = [0; USUAL_ACL_BYTES];
    !matches!(rustix::fs::getxattr(proc_path(fd).as_c_str(), ACCESS, &mut bytes), Err(Errno::NOTSUP))
}

/// Sets the access list of what `fd` stands for.
pub(crate) fn write_access(fd: BorrowedFd<'_>, acl: &PosixAcl) -> Result<()> {
    write(fd, ACCESS, acl)
}

/// Sets or removes the list that new files in the directory `fd` inherit.
pub(crate) fn write_default(fd: BorrowedFd<'_>, acl: Option<&PosixAcl>) -> Result<()> {
    match acl {
        Some(acl) => write(fd, DEFAULT, acl),
        None => match rustix::fs::removexattr(proc_path(fd).as_c_str(), DEFAULT) {
            Ok(()) | Err(Errno::NODATA) => Ok(()),
            Err(errno) => Err(failed(errno)),
        },
    }
}

/// A list that says what the permission bits do is not kept by the kernel: it sets the bits.
fn write(fd: BorrowedFd<'_>, name: &CStr, acl: &PosixAcl) -> Result<()> {
    let written = rustix::fs::setxattr(proc_path(fd).as_c_str(), name, &encode(acl), XattrFlags::empty());
    written.map_err(|errno| match errno {
        Errno::TOOBIG | Errno::RANGE => Error::NoSpace,
        errno => failed(errno),
    })
}

fn read(fd: BorrowedFd<'_>, name: &CStr) -> Result<Option<PosixAcl>> {
    match read_into(fd, name, &mut [0; USUAL_ACL_BYTES]) {
        Err(Errno::RANGE) => read_into(fd, name, &mut vec![0; MAX_ACL_BYTES]).map_err(failed),
        other => other.map_err(failed),
    }
}

fn read_into(fd: BorrowedFd<'_>, name: &CStr, bytes: &mut [u8]) -> rustix::io::Result<Option<PosixAcl>> {
    match rustix::fs::getxattr(proc_path(fd).as_c_str(), name, &mut *bytes) {
        // A list that makes no sense gives nobody anything.
        Ok(length) => Ok(Some(parse(&bytes[..length]).unwrap_or_else(|| PosixAcl::from_mode(0)))),
        // NODATA: no list. NOTSUP: this file system or this kind of file has none.
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Takes the attribute's bytes apart: a version, then entries of tag, permissions and number, all little-endian.
fn parse(bytes: &[u8]) -> Option<PosixAcl> {
    let (version, entries) = bytes.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*version) != VERSION || !entries.len().is_multiple_of(ENTRY_BYTES) {
        return None;
    }
    let entries: Option<Vec<AclEntry>> = entries.chunks_exact(ENTRY_BYTES).map(parse_entry).collect();
    PosixAcl::new(entries?).ok()
}

fn parse_entry(bytes: &[u8]) -> Option<AclEntry> {
    let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let id = u32::from(half(4)) | u32::from(half(6)) << 16;
    let tag = match half(0) {
        OWNER => AclTag::Owner,
        USER => AclTag::User(id),
        OWNING_GROUP => AclTag::OwningGroup,
        GROUP => AclTag::Group(id),
        MASK => AclTag::Mask,
        OTHER => AclTag::Other,
        _ => return None,
    };
    Some(AclEntry { tag, allowed: Access::from_mode_bits(half(2).into()) })
}

fn encode(acl: &PosixAcl) -> Vec<u8> {
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for entry in acl.entries() {
        let (tag, id) = match entry.tag {
            AclTag::Owner => (OWNER, NO_ID),
            AclTag::User(uid) => (USER, uid),
            AclTag::OwningGroup => (OWNING_GROUP, NO_ID),
            AclTag::Group(gid) => (GROUP, gid),
            AclTag::Mask => (MASK, NO_ID),
            AclTag::Other => (OTHER, NO_ID),
        };
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&(entry.allowed.mode_bits() as u16).to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    bytes
}
