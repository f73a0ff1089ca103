//! Whether a change of names was made by the call that noted it, judged when a server starts.

use std::time::Duration;

use vfs::{Blocking, Context, Entry, Error, FileSystem, Handle, Name, Place, Timestamp};

use super::record::{Before, Maker, NameChange, NamedPlace, Step};
use crate::exports::ExportTable;

/// How much earlier than the note a file's time may be: the kernel stamps files with the time of its last tick.
const TICK: Duration = Duration::from_millis(20);

/// The longest time from note to change that is believed. What changed later may be a local process's doing.
const LONGEST: Duration = Duration::from_secs(1);

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// The change was not made, or perhaps by somebody else.
    NotMade,
    /// The call made it; this file has the name since.
    Made(Option<Handle>),
}

/// Compares a change that was noted with what the exports hold now.
pub(crate) fn judge(exports: &ExportTable, change: &NameChange<'_>) -> Finding {
    find(exports, change).unwrap_or(Finding::NotMade)
}

fn find(exports: &ExportTable, change: &NameChange<'_>) -> Option<Finding> {
    let (first, second) = match &change.step {
        Step::Make(place) | Step::Link(place) | Step::Remove(place) => (place, None),
        Step::Move(from, to) => (from, Some(to)),
    };
    let first = Spot::of(exports, first)?;
    let (is_made, made) = match (&change.before, second) {
        (Before::Absent(maker), None) => return first.is_made_by(change, maker),
        (Before::Unlinked(file), None) => (first.is_now(change, file.handle)?, Handle::new(file.handle)),
        (Before::Named(_), None) => (first.is_removed(change)?, None),
        (Before::Named(file), Some(to)) => {
            let is_moved = !first.names(file.handle)? && Spot::of(exports, to)?.is_now(change, file.handle)?;
            (is_moved, Handle::new(file.handle))
        }
        _ => (false, None),
    };
    Some(if is_made { Finding::Made(made) } else { Finding::NotMade })
}

/// A place that a call has noted.
struct Spot<'t> {
    fs: &'t dyn FileSystem,
    place: Place<'t>,
}

impl<'t> Spot<'t> {
    /// The place, unless its export is gone or may be a server that does not answer now.
    fn of(exports: &'t ExportTable, place: &NamedPlace<'t>) -> Option<Spot<'t>> {
        let (exported, dir) = exports.resolve(place.dir).ok()?;
        let fs = &*exported.export.file_system;
        if fs.blocking() == Blocking::Always {
            return None;
        }
        Some(Spot { fs, place: Place { dir, name: Name::new(place.name).ok()? } })
    }

    /// What has the name; `None` if that cannot be told.
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

    fn is_made_by(&self, change: &NameChange<'_>, maker: &Maker) -> Option<Finding> {
        let Entry { handle, attributes } = self.entry()??;
        let is_own = maker.makes(attributes.kind) && [maker.maker, maker.owner].contains(&attributes.uid);
        let time = attributes.created.unwrap_or(attributes.changed);
        Some(if is_own && self.is_of_its_time(change, time) { Finding::Made(Some(handle)) } else { Finding::NotMade })
    }

    /// Whether the name became this file's by the change.
    fn is_now(&self, change: &NameChange<'_>, file: &[u8]) -> Option<bool> {
        let Some(entry) = self.entry()? else { return Some(false) };
        Some(entry.handle.as_bytes() == file && self.is_of_its_time(change, entry.attributes.changed))
    }

    fn is_removed(&self, change: &NameChange<'_>) -> Option<bool> {
        let dir = self.fs.attributes(&Context::ROOT, &self.place.dir).ok()?;
        Some(self.entry()?.is_none() && self.is_of_its_time(change, dir.changed))
    }

    /// Whether a change at `time` was this one, as far as local processes are concerned. Where there are none, no other
    /// change is possible.
    fn is_of_its_time(&self, change: &NameChange<'_>, time: Timestamp) -> bool {
        self.fs.properties().exclusive || change.is_of_its_time(time, (TICK, LONGEST))
    }
}
