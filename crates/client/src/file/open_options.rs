use vfs::{CreateMode, SetAttributes};

use crate::Rights;
use crate::v4::Share;

/// What is done with a file while it is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read and written.
    Both,
}

impl Access {
    /// Whether who has these rights may open a file for this. What may be run may be read, since it is run where it is read
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
/// // A file that nobody has made yet.
/// let new = OpenOptions::write().making_new(0o640);
/// assert!(new.create.is_some());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOptions {
    /// What is done with it.
    pub access: Access,
    /// Whether others may not open it for reading meanwhile. Only NFSv4 keeps them from it.
    pub denies_reads: bool,
    /// Whether others may not open it for writing meanwhile. Only NFSv4 keeps them from it.
    pub denies_writes: bool,
    /// How to make it, if it may be made, and its first attributes.
    pub create: Option<(CreateMode, SetAttributes)>,
}

impl OpenOptions {
    /// To read a file that is there.
    pub fn read() -> OpenOptions {
        OpenOptions { access: Access::Read, denies_reads: false, denies_writes: false, create: None }
    }

    /// To write a file that is there.
    pub fn write() -> OpenOptions {
        OpenOptions { access: Access::Write, ..Self::read() }
    }

    /// To read and write a file that is there.
    pub fn both() -> OpenOptions {
        OpenOptions { access: Access::Both, ..Self::read() }
    }

    /// The same, and the file is made with these attributes.
    #[must_use]
    pub fn creating(self, mode: CreateMode, set: SetAttributes) -> OpenOptions {
        OpenOptions { create: Some((mode, set)), ..self }
    }

    /// The same, and the file is made with these permission bits if it is not there.
    #[must_use]
    pub fn making(self, mode: u32) -> OpenOptions {
        self.creating(CreateMode::Unchecked, SetAttributes { mode: Some(mode), ..SetAttributes::default() })
    }

    /// The same, and the file is made with these permission bits, and must not be there before.
    #[must_use]
    pub fn making_new(self, mode: u32) -> OpenOptions {
        self.creating(CreateMode::Guarded, SetAttributes { mode: Some(mode), ..SetAttributes::default() })
    }

    /// The same, and the file is made with these permission bits if it is not there, and is empty if it is.
    #[must_use]
    pub fn replacing(self, mode: u32) -> OpenOptions {
        let set = SetAttributes { mode: Some(mode), size_bytes: Some(0), ..SetAttributes::default() };
        self.creating(CreateMode::Unchecked, set)
    }

    /// Whether a file that is there gets another length.
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
