//! POSIX access lists (`system.posix_acl_access`), evaluated in user space.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use vfs::{Access, Attributes, Caller, Result, Timestamp};

use crate::failure::failed;
use crate::node::proc_path;

const XATTR: &std::ffi::CStr = c"system.posix_acl_access";
const VERSION: u32 = 2;
const ENTRY_BYTES: usize = 8;

/// The longest list that is read, in bytes: the longest extended attribute that Linux has.
const MAX_ACL_BYTES: usize = 65_536;

/// Room for a list of usual length, on the stack.
const USUAL_ACL_BYTES: usize = 1024;

const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// The access list that a file had when its change time was this; `None` when the permission bits say everything.
#[derive(Debug, Clone)]
pub(crate) struct CachedAcl {
    /// The file's change time when the list was read.
    pub(crate) changed: Timestamp,
    /// The list.
    pub(crate) acl: Option<Acl>,
}

/// An access list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acl {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    tag: u16,
    allowed: Access,
    id: u32,
}

impl Acl {
    /// What a list that makes no sense gives.
    const NOTHING: Acl = Acl { entries: Vec::new() };

    /// Reads the access list of what `fd` stands for.
    pub(crate) fn read(fd: BorrowedFd<'_>) -> Result<Option<Acl>> {
        match Acl::read_into(fd, &mut [0; USUAL_ACL_BYTES]) {
            Err(Errno::RANGE) => Acl::read_into(fd, &mut vec![0; MAX_ACL_BYTES]).map_err(failed),
            other => other.map_err(failed),
        }
    }

    fn read_into(fd: BorrowedFd<'_>, bytes: &mut [u8]) -> rustix::io::Result<Option<Acl>> {
        match rustix::fs::getxattr(proc_path(fd).as_c_str(), XATTR, &mut *bytes) {
            Ok(length) => Ok(Some(Acl::parse(&bytes[..length]).unwrap_or(Acl::NOTHING))),
            // NODATA: no list. NOTSUP: this file system or this kind of file has none.
            Err(Errno::NODATA | Errno::NOTSUP) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Whether the file system that `fd` is on keeps access lists at all.
    pub(crate) fn is_supported(fd: BorrowedFd<'_>) -> bool {
        let mut bytes = [0; USUAL_ACL_BYTES];
        !matches!(rustix::fs::getxattr(proc_path(fd).as_c_str(), XATTR, &mut bytes), Err(Errno::NOTSUP))
    }

    /// Takes the attribute's bytes apart: a version, then entries of tag, permissions and id, all little-endian.
    fn parse(bytes: &[u8]) -> Option<Acl> {
        let (version, entries) = bytes.split_first_chunk::<4>()?;
        if u32::from_le_bytes(*version) != VERSION || !entries.len().is_multiple_of(ENTRY_BYTES) {
            return None;
        }
        Some(Acl { entries: entries.chunks_exact(ENTRY_BYTES).map(Entry::parse).collect() })
    }

    /// The ways to use the file that the list gives to `caller`, who is not the superuser.
    ///
    /// A caller in several groups of the list gets what any of them gives. (The kernel wants one group that gives
    /// everything an open asks for; here each use is asked for by itself.)
    pub(crate) fn evaluate(&self, attributes: &Attributes, caller: &Caller<'_>) -> Access {
        if caller.uid == attributes.uid {
            return self.first(USER_OBJ, None).unwrap_or(Access::NONE);
        }
        let mask = self.first(MASK, None).unwrap_or(Access::ALL);
        if let Some(allowed) = self.first(USER, Some(caller.uid)) {
            return allowed & mask;
        }
        match self.by_groups(attributes.gid, caller) {
            Some(allowed) => allowed & mask,
            None => self.first(OTHER, None).unwrap_or(Access::NONE),
        }
    }

    fn first(&self, tag: u16, id: Option<u32>) -> Option<Access> {
        self.entries.iter().find(|e| e.tag == tag && id.is_none_or(|id| e.id == id)).map(|e| e.allowed)
    }

    fn by_groups(&self, owning_group: u32, caller: &Caller<'_>) -> Option<Access> {
        let matches = |entry: &&Entry| match entry.tag {
            GROUP_OBJ => caller.is_in_group(owning_group),
            GROUP => caller.is_in_group(entry.id),
            _ => false,
        };
        self.entries.iter().filter(matches).map(|entry| entry.allowed).reduce(|sum, one| sum | one)
    }
}

impl Entry {
    fn parse(bytes: &[u8]) -> Entry {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let allowed = Access::from_mode_bits(half(2).into());
        Entry { tag: half(0), allowed, id: u32::from(half(4)) | u32::from(half(6)) << 16 }
    }
}
