//! Numbers in the place of captured handles, names and stateids.

use client::Handle;
use client::proto::nfs4::{FileHandle, Stateid};

/// What follows the number of a state in the place of a stateid.
const MARK: [u8; 8] = *b"captured";

/// The number of a file that the capture has the handle of, or that it must have had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FileId(pub u32);

/// The number of a name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum NameId {
    /// `.`
    This,
    /// `..`
    Parent,
    /// A name that the replay invents.
    Invented(u32),
}

/// A name in its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub dir: FileId,
    pub name: NameId,
}

/// What a call does to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It makes a file or a link there, and fails if there is one.
    Makes,
    /// It makes a file there, or takes the one that is there.
    MakesOrTakes,
    /// It moves a file there.
    MovesTo,
    /// It takes the name away.
    Removes,
}

/// The number of an open, a lock or a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct StateId(pub u32);

impl FileId {
    /// A handle that has this number.
    pub(super) fn encode(self) -> FileHandle {
        Handle::new(&self.0.to_be_bytes()).map(FileHandle::from).unwrap_or_else(|| unreachable!("it is short"))
    }

    /// The number that a handle has.
    pub(super) fn decode(handle: &FileHandle) -> Option<FileId> {
        handle.as_bytes().first_chunk().map(|number| FileId(u32::from_be_bytes(*number)))
    }
}

impl StateId {
    /// A stateid that has this number.
    pub(super) fn encode(self, seqid: u32) -> Stateid {
        let mut other = [0; 12];
        other[..4].copy_from_slice(&self.0.to_be_bytes());
        other[4..].copy_from_slice(&MARK);
        Stateid { seqid, other }
    }

    /// The number that a stateid has; nothing if it is one of those with a meaning of their own.
    pub(super) fn decode(stateid: &Stateid) -> Option<StateId> {
        let number = stateid.other.first_chunk().map(|number| u32::from_be_bytes(*number))?;
        (stateid.other[4..] == MARK).then_some(StateId(number))
    }
}
