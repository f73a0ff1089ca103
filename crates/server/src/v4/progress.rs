//! How far a COMPOUND has come: what one operation passes to the next.

use proto::nfs4::{FileHandle, MinorVersion, Stateid, Status};
use state::SlotTurn;

use crate::replay::CompoundChanges;

/// A file handle that is unknown here. It can only be saved, and be the source of a COPY from another server (RFC 7862
/// §15.2.3).
#[derive(Debug, Clone, Copy)]
pub(super) struct Foreign {
    pub(super) handle: FileHandle,
    /// The status for any other use.
    pub(super) status: Status,
    pub(super) is_saved: bool,
}

/// The progress of a COMPOUND: the state that one operation passes to the next.
#[derive(Debug)]
pub(super) struct CompoundState {
    pub(super) minor: MinorVersion,
    /// A handle of another server in place of the current or saved file, which is then empty.
    pub(super) foreign: Option<Foreign>,
    pub(super) current_stateid: Option<Stateid>,
    pub(super) saved_stateid: Option<Stateid>,
    /// The session slot of this request, once SEQUENCE succeeded.
    pub(super) turn: Option<SlotTurn>,
    /// Whether an operation has run that must not be repeated.
    pub(super) has_changed: bool,
    /// The changes whose reply must outlive the process.
    pub(super) changes: CompoundChanges,
    /// The number of operations.
    pub(super) count: u32,
    /// The number of operations with a result.
    pub(super) done: u32,
}

impl CompoundState {
    #[inline]
    pub(super) fn new(minor: MinorVersion, count: u32) -> CompoundState {
        CompoundState {
            minor,
            foreign: None,
            current_stateid: None,
            saved_stateid: None,
            turn: None,
            has_changed: false,
            changes: CompoundChanges::default(),
            count,
            done: 0,
        }
    }
}
