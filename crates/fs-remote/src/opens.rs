//! The open files: each once for reading and once for writing by each user.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use client_files::{Mount, Principal};
use vfs::{OpenFile, OpenMode};

use super::handles::{NameIn, Number};
use super::remote_file::RemoteFile;

/// The most new files that are kept open for their next open.
const MAX_NEW: usize = 32;

/// All open files.
#[derive(Debug, Default)]
pub(super) struct Opens {
    table: Mutex<Table>,
    /// Signalled at the end of each removal.
    removed: Condvar,
}

/// The removal of the last name of a file that is not open. Whoever opens the file meanwhile waits.
#[derive(Debug)]
pub(super) struct Removal<'o> {
    opens: &'o Opens,
    number: Number,
    /// Whether the name is known to be the file's last one.
    is_last: bool,
}

#[derive(Debug, Default)]
struct Table {
    files: HashMap<Number, Slot>,
    new: VecDeque<New>,
}

#[derive(Debug)]
struct New {
    file: Arc<RemoteFile>,
    /// Whether [`Opens::tidy`] ran since.
    is_old: bool,
}

#[derive(Debug, Default)]
struct Slot {
    shared: Vec<Shareable>,
    /// How many opens there are, those in progress included; newer ones may have replaced some of those above.
    count: usize,
    /// How many of them are holds.
    holds: usize,
    /// How many removals of its last name are in progress.
    removals: usize,
    /// The name to remove when the file is closed for the last time.
    hidden: Option<Hidden>,
}

/// An open file that users with the same rights may share.
#[derive(Debug)]
struct Shareable {
    user: Arc<Principal>,
    mode: OpenMode,
    file: Weak<RemoteFile>,
}

/// The hidden name of a file that was removed while it was open.
#[derive(Debug, Clone)]
pub(super) struct Hidden {
    pub(super) name: NameIn,
    /// The mount with the credentials of the user who removed the file.
    pub(super) mount: Mount,
}

impl Hidden {
    pub(super) async fn remove(&self) -> client_files::Result<()> {
        self.mount.remove(&self.name.dir, &self.name.name).await
    }
}

impl Opens {
    /// Counts an open. Waits while the last name of the file is being removed.
    pub(super) fn begin(&self, number: Number) {
        let is_removed = |table: &mut Table| table.files.get(&number).is_some_and(|slot| slot.removals > 0);
        let table = self.removed.wait_while(self.lock(), is_removed);
        table.unwrap_or_else(PoisonError::into_inner).files.entry(number).or_default().count += 1;
    }

    /// Begins to remove the last name of a file. `None` if the file is open: then it needs a hidden name.
    pub(super) fn begin_removal(&self, number: Number, is_last: bool) -> Option<Removal<'_>> {
        let mut table = self.lock();
        let slot = table.files.entry(number).or_default();
        if slot.count > 0 {
            return None;
        }
        slot.removals += 1;
        Some(Removal { opens: self, number, is_last })
    }

    /// Counts a close. The last one gets the name to remove, and calls [`Opens::end_removal`] afterwards.
    pub(super) fn end(&self, number: Number) -> Option<Hidden> {
        let mut table = self.lock();
        let slot = table.files.get_mut(&number)?;
        slot.count = slot.count.saturating_sub(1);
        if slot.count > 0 {
            return None;
        }
        let hidden = slot.hidden.take();
        slot.removals += usize::from(hidden.is_some());
        if slot.removals == 0 {
            table.files.remove(&number);
        }
        hidden
    }

    /// Ends a removal: whoever opens the file now finds it gone.
    pub(super) fn end_removal(&self, number: Number) {
        let mut table = self.lock();
        if let Some(slot) = table.files.get_mut(&number) {
            slot.removals -= 1;
            if slot.removals == 0 && slot.count == 0 {
                table.files.remove(&number);
            }
        }
        drop(table);
        self.removed.notify_all();
    }

    /// Lets the same user share a file.
    pub(super) fn insert(&self, file: &Arc<RemoteFile>) {
        let (user, mode) = (Arc::clone(file.user()), file.mode());
        let mut table = self.lock();
        let Some(slot) = table.files.get_mut(&file.number()) else { return };
        slot.shared.retain(|other| other.file.strong_count() > 0 && (&other.user, other.mode) != (&user, mode));
        slot.shared.push(Shareable { user, mode, file: Arc::downgrade(file) });
    }

    /// A new file of this user, if it was kept open; hands it over.
    pub(super) fn take_new(&self, number: Number, user: &Arc<Principal>) -> Option<Arc<RemoteFile>> {
        let mut made = self.lock().take_new_where(|new| new.file.number() == number && new.file.user() == user);
        made.pop().map(|new| new.file)
    }

    /// A file that this user has open for `mode`, if any.
    pub(super) fn get(&self, number: Number, user: &Arc<Principal>, mode: OpenMode) -> Option<Arc<RemoteFile>> {
        let table = self.lock();
        let slot = table.files.get(&number)?;
        let file = slot.find(|file| file.user == *user && file.mode == OpenMode::Write);
        match mode {
            OpenMode::Read => file.or_else(|| slot.find(|file| file.user == *user)),
            OpenMode::Write => file,
        }
    }

    /// A file that is open for writing, if any.
    pub(super) fn writer(&self, number: Number) -> Option<Arc<RemoteFile>> {
        self.lock().files.get(&number)?.find(|file| file.mode == OpenMode::Write)
    }

    pub(super) fn writers(&self) -> Vec<Arc<RemoteFile>> {
        let table = self.lock();
        let shared = table.files.values().flat_map(|slot| &slot.shared);
        shared.filter(|file| file.mode == OpenMode::Write).filter_map(|file| file.file.upgrade()).collect()
    }

    /// Keeps a new file open, so that its creator can write it whatever its mode is.
    pub(super) fn keep_new(&self, file: Arc<RemoteFile>) {
        self.insert(&file);
        let mut table = self.lock();
        table.new.push_back(New { file, is_old: false });
        let too_many = if table.new.len() > MAX_NEW { table.new.pop_front() } else { None };
        drop(table);
        drop(too_many);
    }

    /// Closes a new file that nobody has opened since.
    pub(super) fn let_go_of_new(&self, number: Number) {
        let made = self.lock().take_new_where(|new| new.file.number() == number);
        drop(made);
    }

    /// Closes new files that nobody has opened for a while.
    pub(super) fn tidy(&self) {
        let mut table = self.lock();
        let old = table.take_new_where(|new| new.is_old);
        table.new.iter_mut().for_each(|new| new.is_old = true);
        drop(table);
        drop(old);
    }

    /// Notes that one of the opens is a hold, whose owner reaches the file by its handle.
    pub(super) fn begin_hold(&self, number: Number) {
        if let Some(slot) = self.lock().files.get_mut(&number) {
            slot.holds += 1;
        }
    }

    pub(super) fn end_hold(&self, number: Number) {
        if let Some(slot) = self.lock().files.get_mut(&number) {
            slot.holds -= 1;
        }
    }

    pub(super) fn is_held(&self, number: Number) -> bool {
        self.lock().files.get(&number).is_some_and(|slot| slot.holds > 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().files.is_empty()
    }

    pub(super) fn is_hidden(&self, number: Number) -> bool {
        self.lock().files.get(&number).is_some_and(|slot| slot.hidden.is_some())
    }

    /// Has a name removed at the last close. Returns a name to remove now if the file is already closed, or has two;
    /// the caller calls [`Opens::end_removal`] afterwards.
    pub(super) fn hide(&self, number: Number, name: Hidden) -> Option<Hidden> {
        let mut table = self.lock();
        let slot = table.files.entry(number).or_default();
        let left = if slot.count > 0 { slot.hidden.replace(name) } else { Some(name) };
        slot.removals += usize::from(left.is_some());
        left
    }

    /// The open file behind `file`, if it is one of these.
    pub(super) fn own(&self, file: &dyn OpenFile) -> Option<Arc<RemoteFile>> {
        let table = self.lock();
        let is_it = |shared: &Shareable| std::ptr::addr_eq(shared.file.as_ptr(), std::ptr::from_ref(file));
        table.files.values().find_map(|slot| slot.find(is_it))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Removal<'_> {
    /// The file, if it is gone with the name.
    pub(super) fn last_of(&self) -> Option<Number> {
        self.is_last.then_some(self.number)
    }
}

impl Drop for Removal<'_> {
    fn drop(&mut self) {
        self.opens.end_removal(self.number);
    }
}

impl Slot {
    /// The first matching file that still exists.
    fn find(&self, is_meant: impl Fn(&Shareable) -> bool) -> Option<Arc<RemoteFile>> {
        self.shared.iter().filter(|file| is_meant(file)).find_map(|file| file.file.upgrade())
    }
}

impl Table {
    /// Takes matching new files out; there may be several if threads raced to make one.
    fn take_new_where(&mut self, is_taken: impl Fn(&New) -> bool) -> Vec<New> {
        let (taken, others): (Vec<New>, Vec<New>) = self.new.drain(..).partition(is_taken);
        self.new = others.into();
        taken
    }
}
