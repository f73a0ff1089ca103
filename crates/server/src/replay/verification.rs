//! Decides at the server's start whether a logged change of names was made by its call.

use std::time::Duration;

use vfs::{Blocking, Context, Entry, Error, FileSystem, Handle, Name, Place, Timestamp};

use super::record::{Before, Maker, NameChange, NamedPlace, Step};
use crate::exports::ExportTable;

/// The most that a file's time may precede the log record: the kernel stamps files with its last tick.
const TICK: Duration = Duration::from_millis(20);

/// The longest accepted time from record to change. A local process may have made a later change.
const LONGEST: Duration = Duration::from_secs(1);

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verification {
    /// The change was not made, or possibly by somebody else.
    NotMade,
    /// The call made it; the name belongs to this file since then.
    Made(Option<Handle>),
}

/// Compares a logged change with the files of the exports.
pub(crate) fn verify(exports: &ExportTable, change: &NameChange<'_>) -> Verification {
    find(exports, change).unwrap_or(Verification::NotMade)
}

fn find(exports: &ExportTable, change: &NameChange<'_>) -> Option<Verification> {
    let (first, second) = match &change.step {
        Step::Make(place) | Step::Link(place) | Step::Remove(place) => (place, None),
        Step::Move(from, to) => (from, Some(to)),
    };
    let first = LoggedPlace::of(exports, first)?;
    let (is_made, made) = match (&change.before, second) {
        (Before::Absent(maker), None) => return first.is_made_by(change, maker),
        (Before::Unlinked(file), None) => (first.is_now(change, file.handle)?, Handle::new(file.handle)),
        (Before::Named(_), None) => (first.is_removed(change)?, None),
        (Before::Named(file), Some(to)) => {
            let is_moved = !first.names(file.handle)? && LoggedPlace::of(exports, to)?.is_now(change, file.handle)?;
            (is_moved, Handle::new(file.handle))
        }
        _ => (false, None),
    };
    Some(if is_made { Verification::Made(made) } else { Verification::NotMade })
}

/// The place of a logged name.
struct LoggedPlace<'t> {
    fs: &'t dyn FileSystem,
    place: Place<'t>,
}

impl<'t> LoggedPlace<'t> {
    /// The place, unless its export is gone or may be on a server that does not answer.
    fn of(exports: &'t ExportTable, place: &NamedPlace<'t>) -> Option<LoggedPlace<'t>> {
        let (exported, dir) = exports.resolve(place.dir).ok()?;
        let fs = &*exported.export.file_system;
        if fs.blocking() == Blocking::Always {
            return None;
        }
        Some(LoggedPlace { fs, place: Place { dir, name: Name::new(place.name).ok()? } })
    }

    /// The file that has the name; `None` if that is unknown.
    fn entry(&self) -> Option<Option<Entry>> {
        match self.fs.lookup(&Context::ROOT, self.place) {
            Ok(entry) => Some(Some(entry)),
            Err(Error::NoEntry) => Some(None),
            Err(_) => None,
        }
    }

    fn names(&self, file: &[u8]) -> Option<bool> {
        Some(self.entry()?.is_some_and(|entry| entry.handle.as_bytes() == file))
    }

    fn is_made_by(&self, change: &NameChange<'_>, maker: &Maker) -> Option<Verification> {
        let Entry { handle, attributes } = self.entry()??;
        let is_own = maker.makes(attributes.kind) && [maker.maker, maker.owner].contains(&attributes.uid);
        let time = attributes.created.unwrap_or(attributes.changed);
        Some(if is_own && self.is_of_its_time(change, time) {
            Verification::Made(Some(handle))
        } else {
            Verification::NotMade
        })
    }

    /// Whether the change gave the name to this file.
    fn is_now(&self, change: &NameChange<'_>, file: &[u8]) -> Option<bool> {
        let Some(entry) = self.entry()? else { return Some(false) };
        Some(entry.handle.as_bytes() == file && self.is_of_its_time(change, entry.attributes.changed))
    }

    fn is_removed(&self, change: &NameChange<'_>) -> Option<bool> {
        let dir = self.fs.attributes(&Context::ROOT, &self.place.dir).ok()?;
        Some(self.entry()?.is_none() && self.is_of_its_time(change, dir.changed))
    }

    /// Whether a change at `time` can be this one rather than a local process's. On an exclusive file system, no other
    /// change is possible.
    fn is_of_its_time(&self, change: &NameChange<'_>, time: Timestamp) -> bool {
        self.fs.properties().exclusive || change.is_of_its_time(time, TICK, LONGEST)
    }
}
