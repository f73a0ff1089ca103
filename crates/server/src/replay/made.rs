//! Changes that an earlier process made.

use vfs::Handle;

use super::record::{DoneStep, FileBytes, Step, Ticket, bytes_of};

/// A step of a call that an earlier process made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(super) step: Box<[u8]>,
    /// The file that has the name since then.
    pub(crate) made: Option<Handle>,
}

impl Finished {
    pub(super) fn of(made: &MadeStep<'_>) -> Finished {
        let handle = made.handle.filter(|handle| !handle.as_bytes().is_empty());
        Finished { step: step_bytes(&made.step), made: handle }
    }
}

/// The bytes by which a step is found again.
pub(super) fn step_bytes(step: &Step<'_>) -> Box<[u8]> {
    bytes_of(step).as_slice().into()
}

/// A step that was made.
pub(super) struct MadeStep<'r> {
    pub(super) step: Step<'r>,
    pub(super) handle: Option<Handle>,
}

impl<'r> MadeStep<'r> {
    pub(super) fn of(done: &DoneStep<'r>) -> MadeStep<'r> {
        MadeStep { step: done.step, handle: Handle::new(done.made.handle) }
    }
}

/// A change of names that a request made before a power failure, from the write log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeBefore {
    /// The ticket that the file system received with the change ([`vfs::Context::ticket`]).
    pub ticket: Vec<u8>,
    /// The file that got a name by the change.
    pub file: Option<Handle>,
}

impl MadeBefore {
    pub(super) fn read(&self) -> Option<(Ticket<'_>, FileBytes<'_>)> {
        let file = FileBytes { handle: self.file.as_ref().map_or(&[], Handle::as_bytes) };
        Some((Ticket::read(&self.ticket).ok()?, file))
    }
}
