//! The files that are open, each once for reading and once for writing by each user.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use vfs::{OpenFile, OpenMode};

use super::handles::{NameIn, Number};
use super::open_file::RemoteFile;
use crate::Mount;
use crate::credentials::Principal;

/// The most files that were just made and are kept open for whoever opens them next.
const MAX_NEW: usize = 32;

/// All files that are open.
#[derive(Debug, Default)]
pub(super) struct Opens(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    files: HashMap<Number, Slot>,
    new: VecDeque<New>,
}

#[derive(Debug)]
struct New {
    file: Arc<RemoteFile>,
    /// Whether [`Opens::tidy`] came by since.
    is_old: bool,
}

#[derive(Debug, Default)]
struct Slot {
    shared: Vec<Shareable>,
    /// How many there are, of which others may have taken the places above.
    count: usize,
    /// The name that is to be removed when nobody has the file open any more.
    hidden: Option<Hidden>,
}

/// A file that whoever has the same rights may share.
#[derive(Debug)]
struct Shareable {
    user: Arc<Principal>,
    mode: OpenMode,
    file: Weak<RemoteFile>,
}

/// The name of a file that was removed while it was open.
#[derive(Debug)]
pub(super) struct Hidden {
    pub(super) name: NameIn,
    /// The mount as it was used by who removed the file.
    pub(super) mount: Mount,
}

impl Hidden {
    pub(super) async fn remove(&self) -> crate::Result<()> {
        self.mount.remove(&self.name.dir, &self.name.name).await
    }
}

impl Opens {
    /// Counts a file that was opened.
    pub(super) fn begin(&self, number: Number) {
        self.lock().files.entry(number).or_default().count += 1;
    }

    /// Counts a file that is closed. Whoever closes the last one gets the name that is to be removed.
    pub(super) fn end(&self, number: Number) -> Option<Hidden> {
        let mut table = self.lock();
        let slot = table.files.get_mut(&number)?;
        slot.count = slot.count.saturating_sub(1);
        if slot.count > 0 { None } else { table.files.remove(&number)?.hidden }
    }

    /// Lets the same user share a file.
    pub(super) fn insert(&self, file: &Arc<RemoteFile>) {
        let (user, mode) = (Arc::clone(file.user()), file.mode());
        let mut table = self.lock();
        let Some(slot) = table.files.get_mut(&file.number()) else { return };
        slot.shared.retain(|other| other.file.strong_count() > 0 && (&other.user, other.mode) != (&user, mode));
        slot.shared.push(Shareable { user, mode, file: Arc::downgrade(file) });
    }

    /// A file that this user has just made, if it was kept: it is handed over.
    pub(super) fn take_new(&self, number: Number, user: &Arc<Principal>) -> Option<Arc<RemoteFile>> {
        let mut made = self.lock().take_new_where(|new| new.file.number() == number && new.file.user() == user);
        made.pop().map(|new| new.file)
    }

    /// A file that this user has open for `mode`, if there is one.
    pub(super) fn get(&self, number: Number, user: &Arc<Principal>, mode: OpenMode) -> Option<Arc<RemoteFile>> {
        let table = self.lock();
        let slot = table.files.get(&number)?;
        let file = slot.find(|file| file.user == *user && file.mode == OpenMode::Write);
        match mode {
            OpenMode::Read => file.or_else(|| slot.find(|file| file.user == *user)),
            OpenMode::Write => file,
        }
    }

    /// A file that is open for writing, if it is.
    pub(super) fn writer(&self, number: Number) -> Option<Arc<RemoteFile>> {
        self.lock().files.get(&number)?.find(|file| file.mode == OpenMode::Write)
    }

    /// All files that are open for writing.
    pub(super) fn writers(&self) -> Vec<Arc<RemoteFile>> {
        let table = self.lock();
        let shared = table.files.values().flat_map(|slot| &slot.shared);
        shared.filter(|file| file.mode == OpenMode::Write).filter_map(|file| file.file.upgrade()).collect()
    }

    /// Keeps a file that was just made open, so that whoever made it can write it whatever its mode is.
    pub(super) fn keep_new(&self, file: Arc<RemoteFile>) {
        self.insert(&file);
        let mut table = self.lock();
        table.new.push_back(New { file, is_old: false });
        let too_many = if table.new.len() > MAX_NEW { table.new.pop_front() } else { None };
        drop(table);
        drop(too_many);
    }

    /// Closes a file that was made and that nobody has opened since.
    pub(super) fn let_go_of_new(&self, number: Number) {
        let made = self.lock().take_new_where(|new| new.file.number() == number);
        drop(made);
    }

    /// Closes what was made and not been opened for a while.
    pub(super) fn tidy(&self) {
        let mut table = self.lock();
        let old = table.take_new_where(|new| new.is_old);
        table.new.iter_mut().for_each(|new| new.is_old = true);
        drop(table);
        drop(old);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().files.is_empty()
    }

    /// Whether somebody has the file open.
    pub(super) fn is_open(&self, number: Number) -> bool {
        self.lock().files.contains_key(&number)
    }

    /// Whether the file has a hidden name.
    pub(super) fn is_hidden(&self, number: Number) -> bool {
        self.lock().files.get(&number).is_some_and(|slot| slot.hidden.is_some())
    }

    /// Has a name removed when nobody has the file open any more. When that is so already the name comes back.
    pub(super) fn hide(&self, number: Number, name: Hidden) -> Option<Hidden> {
        match self.lock().files.get_mut(&number) {
            Some(slot) => slot.hidden.replace(name),
            None => Some(name),
        }
    }

    /// The open file that `file` is, if it is one of these.
    pub(super) fn own(&self, file: &dyn OpenFile) -> Option<Arc<RemoteFile>> {
        let table = self.lock();
        let is_it = |shared: &Shareable| std::ptr::addr_eq(shared.file.as_ptr(), std::ptr::from_ref(file));
        table.files.values().find_map(|slot| slot.find(is_it))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// The first file that is meant and still there.
    fn find(&self, is_meant: impl Fn(&Shareable) -> bool) -> Option<Arc<RemoteFile>> {
        self.shared.iter().filter(|file| is_meant(file)).find_map(|file| file.file.upgrade())
    }
}

impl Table {
    /// Takes out a file that was just made, or was found by several who would have made it.
    fn take_new_where(&mut self, is_taken: impl Fn(&New) -> bool) -> Vec<New> {
        let (taken, others): (Vec<New>, Vec<New>) = self.new.drain(..).partition(is_taken);
        self.new = others.into();
        taken
    }
}
