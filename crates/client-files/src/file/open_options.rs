use vfs::{CreateMode, SetAttributes};

use crate::Rights;
use crate::v4::Share;

/// The kinds of access that an open allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Reading and writing.
    Both,
}

impl Access {
    /// Whether these rights allow this access. The right to execute includes reading, because files are read to be run
    /// (RFC 1813 §4.4).
    pub(super) fn is_within(self, rights: Rights) -> bool {
        let can_read = rights.contains(Rights::READ) || rights.contains(Rights::EXECUTE);
        let can_write = rights.contains(Rights::MODIFY);
        match self {
            Access::Read => can_read,
            Access::Write => can_write,
            Access::Both => can_read && can_write,
        }
    }
}

/// How to open a file.
///
/// ```
/// use client::{Access, OpenOptions};
///
/// let alone = OpenOptions { denies_writes: true, ..OpenOptions::both() };
/// assert_eq!(alone.access, Access::Both);
/// // A new file that must not exist yet.
/// let new = OpenOptions::write().making_new(0o640);
/// assert!(new.create.is_some());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// The access.
    pub access: Access,
    /// Whether others are denied to open the file for reading meanwhile. Only NFSv4 enforces this.
    pub denies_reads: bool,
    /// Whether others are denied to open the file for writing meanwhile. Only NFSv4 enforces this.
    pub denies_writes: bool,
    /// How to make the file, if that is allowed, and its first attributes.
    pub create: Option<(CreateMode, SetAttributes)>,
}

impl OpenOptions {
    /// Reads an existing file.
    pub fn read() -> OpenOptions {
        OpenOptions { access: Access::Read, denies_reads: false, denies_writes: false, create: None }
    }

    /// Writes an existing file.
    pub fn write() -> OpenOptions {
        OpenOptions { access: Access::Write, ..Self::read() }
    }

    /// Reads and writes an existing file.
    pub fn both() -> OpenOptions {
        OpenOptions { access: Access::Both, ..Self::read() }
    }

    /// Makes the file with these attributes.
    #[must_use]
    pub fn creating(self, mode: CreateMode, set: SetAttributes) -> OpenOptions {
        OpenOptions { create: Some((mode, set)), ..self }
    }

    /// Makes the file with these permission bits if it does not exist.
    #[must_use]
    pub fn making(self, mode: u32) -> OpenOptions {
        self.creating(CreateMode::Unchecked, SetAttributes { mode: Some(mode), ..SetAttributes::default() })
    }

    /// Makes the file with these permission bits; it must not exist.
    #[must_use]
    pub fn making_new(self, mode: u32) -> OpenOptions {
        self.creating(CreateMode::Guarded, SetAttributes { mode: Some(mode), ..SetAttributes::default() })
    }

    /// Makes the file with these permission bits if it does not exist, and truncates it if it does.
    #[must_use]
    pub fn replacing(self, mode: u32) -> OpenOptions {
        let set = SetAttributes { mode: Some(mode), size_bytes: Some(0), ..SetAttributes::default() };
        self.creating(CreateMode::Unchecked, set)
    }

    /// Whether an existing file gets another length.
    pub(super) fn cuts(&self) -> bool {
        self.create.is_some_and(|(mode, set)| mode == CreateMode::Unchecked && set.size_bytes.is_some())
    }

    pub(super) fn share(&self) -> Share {
        let share = match self.access {
            Access::Read => Share::READ,
            Access::Write => Share::WRITE,
            Access::Both => Share::BOTH,
        };
        share.denying(self.denies_reads, self.denies_writes)
    }
}
