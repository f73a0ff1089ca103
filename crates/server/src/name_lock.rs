//! The lock of a call on the names that it changes. It prevents that a change is repeated after the server was killed
//! ([`crate::replay`]).
//!
//! Every change of names locks them, even one that is not logged: it must not happen between the log record and the
//! reply of another call. Without a log there are no locks.

use std::time::Duration;

use buffer::Buffer;
use vfs::{Context, Entry, Error, FileKind, Handle, Place, SetAttributes};

use crate::exports::{ExportTable, Exported};
use crate::fault::Fault;
use crate::node::Node;
use crate::replay::record::{Before, FileBytes, Maker, NameChange, NamedPlace, Step};
use crate::replay::{Begun, Finished, NameSlot, NameSlots};

/// How often to check whether another call is done with a name, and the interval: 5 seconds in all. Then the client is
/// told to try later.
const LOOKS: u32 = 5000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// An operation that changes names.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NameOp<'p> {
    /// A new file gets a name.
    Make(Place<'p>),
    /// A file gets an additional name.
    Link(Place<'p>),
    /// A name is removed.
    Remove(Place<'p>),
    /// A name is moved.
    Move(Place<'p>, Place<'p>),
}

/// The result of locking names.
pub(crate) enum NameLockResult<'c> {
    /// The call holds the lock.
    Locked(NameLock<'c>),
    /// An earlier process already made this call's change. The name belongs to this file since then.
    AlreadyMade(Option<Handle>),
}

/// The names that a call may change. No other call changes them until this is dropped or, if the change is logged,
/// until the call is answered.
pub(crate) struct NameLock<'c> {
    held: Option<HeldSlots<'c>>,
    noting: Option<&'c Begun<'c>>,
    /// The ticket that a write log keeps with the change.
    ticket: Option<Buffer>,
}

/// Slots that are released on drop.
struct HeldSlots<'c> {
    names: &'c NameSlots,
    slots: [Option<NameSlot>; 2],
}

impl<'c> Node<'c> {
    /// Locks the names of this export that `change` affects.
    pub(crate) fn lock_names(&self, change: &NameOp<'_>) -> Result<NameLockResult<'c>, Fault> {
        let Some(names) = self.server.replay.names() else {
            return Ok(NameLockResult::Locked(NameLock { held: None, noting: None, ticket: None }));
        };
        // A call that will be deferred is not logged.
        if self.must_defer_changes() {
            return Err(Fault::Defer);
        }
        let noting = self.begun.filter(|begun| begun.outlives_process());
        if let Some(begun) = noting
            && let Some(finished) = change.as_step(self.exported, |step| begun.finished(&step))
            && (!begun.is_operation() || self.is_as_left(change, finished)?)
        {
            return Ok(NameLockResult::AlreadyMade(finished.made));
        }
        let slots =
            change.places().map(|place| Some(names.slot(&self.exported.file_key(place?.dir), place?.name.as_bytes())));
        let held = self.until_free(|| HeldSlots::take(names, noting, slots))?;
        Ok(NameLockResult::Locked(NameLock { held: Some(held), noting, ticket: None }))
    }

    /// Whether names are still as a change left them.
    fn is_as_left(&self, change: &NameOp<'_>, finished: &Finished) -> vfs::Result<bool> {
        let now = |place: Place<'_>| Ok::<_, Error>(self.existing(place)?.map(|entry| entry.handle));
        Ok(match *change {
            NameOp::Make(place) | NameOp::Link(place) | NameOp::Remove(place) => now(place)? == finished.made,
            NameOp::Move(from, to) => now(from)?.is_none() && now(to)? == finished.made,
        })
    }

    fn until_free<T>(&self, mut look: impl FnMut() -> Option<T>) -> Result<T, Fault> {
        for _ in 0..LOOKS {
            match look() {
                Some(found) => return Ok(found),
                None if !self.context.may_block => return Err(Fault::Defer),
                None => (self.server.settings.pause)(BETWEEN_LOOKS),
            }
        }
        Err(Error::TryLater(std::io::ErrorKind::TimedOut.into()).into())
    }

    fn note(&self, lock: &mut NameLock<'c>, change: &NameOp<'_>, before: Before<'_>) {
        let (Some(begun), Some(held)) = (lock.noting, lock.held.take()) else { return };
        let at_ns = NameChange::time_ns((self.server.settings.wall_clock)());
        change.as_step(self.exported, |step| {
            lock.ticket = Some(begun.ticket(&step));
            begun.note(NameChange { step, before, at_ns }, held.keep());
        });
    }

    /// Creates something at `place` with `make`, while this call locks the name.
    pub(crate) fn make_locked(
        &self,
        place: Place<'_>,
        kind: FileKind,
        set: &SetAttributes,
        make: impl FnOnce(&Context<'_>) -> vfs::Result<Entry>,
    ) -> Result<Entry, Fault> {
        let change = NameOp::Make(place);
        let mut lock = match self.lock_names(&change)? {
            NameLockResult::Locked(lock) => lock,
            NameLockResult::AlreadyMade(made) => return self.made_before(place, made),
        };
        if lock.is_noted() {
            if self.existing(place)?.is_some() {
                return Err(Error::Exists.into());
            }
            let maker = self.context.caller.uid;
            let before = Before::Absent(Maker::new(kind, maker, set.uid.unwrap_or(maker)));
            self.note(&mut lock, &change, before);
        }
        let made = make(&lock.context(&self.context))?;
        if let Some(begun) = lock.noting {
            begun.made(made.handle);
        }
        Ok(made)
    }

    /// The file that an earlier process made for this call.
    fn made_before(&self, place: Place<'_>, made: Option<Handle>) -> Result<Entry, Fault> {
        let handle = made.map_or_else(|| Ok(self.fs().lookup(&self.context, place)?.handle), Ok::<_, Error>)?;
        Ok(Entry { handle, attributes: self.sibling(handle).attributes()? })
    }

    /// Logs that `file` is about to get a name.
    pub(crate) fn note_link(&self, lock: &mut NameLock<'c>, change: &NameOp<'_>, file: &Handle) {
        self.note(lock, change, Before::Unlinked(FileBytes { handle: file.as_bytes() }));
    }

    /// Logs that `file` is about to lose a name or have it moved.
    pub(crate) fn note_unlink(&self, lock: &mut NameLock<'c>, change: &NameOp<'_>, file: &Handle) {
        self.note(lock, change, Before::Named(FileBytes { handle: file.as_bytes() }));
    }
}

impl NameLock<'_> {
    /// Whether the change is logged, with the state before it.
    pub(crate) fn is_noted(&self) -> bool {
        self.noting.is_some()
    }

    /// The context in which the change is made.
    pub(crate) fn context<'a>(&'a self, cx: &Context<'a>) -> Context<'a> {
        Context { ticket: self.ticket.as_ref().map_or(&[], Buffer::as_slice), ..*cx }
    }
}

impl<'p> NameOp<'p> {
    fn places(&self) -> [Option<Place<'p>>; 2] {
        match *self {
            NameOp::Make(place) | NameOp::Link(place) | NameOp::Remove(place) => [Some(place), None],
            NameOp::Move(from, to) => [Some(from), Some(to)],
        }
    }

    /// Passes the change to `run` in the form of log records.
    fn as_step<T>(&self, exported: &Exported, run: impl FnOnce(Step<'_>) -> T) -> T {
        let [first, second] = self.places();
        let dir = |place: Option<Place<'_>>| place.map(|place| ExportTable::wire_handle(exported, &place.dir));
        let dirs = [dir(first), dir(second)];
        let named = |index: usize, place: Place<'p>| NamedPlace {
            dir: dirs[index].as_ref().map_or(&[], |dir| dir.as_bytes()),
            name: place.name.as_bytes(),
        };
        run(match *self {
            NameOp::Make(place) => Step::Make(named(0, place)),
            NameOp::Link(place) => Step::Link(named(0, place)),
            NameOp::Remove(place) => Step::Remove(named(0, place)),
            NameOp::Move(from, to) => Step::Move(named(0, from), named(1, to)),
        })
    }
}

impl<'c> HeldSlots<'c> {
    /// Takes the slots, or `None` if another call holds one. Slots that this call already holds are skipped.
    fn take(names: &'c NameSlots, begun: Option<&Begun<'_>>, slots: [Option<NameSlot>; 2]) -> Option<HeldSlots<'c>> {
        let mut held = HeldSlots { names, slots: [None; 2] };
        for (index, slot) in slots.into_iter().enumerate() {
            let is_needed =
                |slot: &NameSlot| !held.slots.contains(&Some(*slot)) && !begun.is_some_and(|begun| begun.has(*slot));
            let Some(slot) = slot.filter(is_needed) else { continue };
            if !names.try_take(slot) {
                return None;
            }
            held.slots[index] = Some(slot);
        }
        Some(held)
    }

    /// Passes the slots to a new owner without releasing them.
    fn keep(mut self) -> impl Iterator<Item = NameSlot> {
        std::mem::take(&mut self.slots).into_iter().flatten()
    }
}

impl Drop for HeldSlots<'_> {
    fn drop(&mut self) {
        self.slots.iter().flatten().for_each(|slot| self.names.release(*slot));
    }
}
