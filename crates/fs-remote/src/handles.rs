//! Maps numbers to handles of the server.
//!
//! A number is made from the handle's bytes, so a file always gets the same one. If two handles have the same hash, the
//! one met later gets the next free number.

use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use client_files::{Detail, Handle, Order};
use siphasher::sip::SipHasher13;
use vfs::{Error, FileKind, Result};

/// The key of the hash: constant, so that numbers are the same in every process. A server that searches for colliding
/// handles harms only its own clients.
const HASH_KEY: (u64, u64) = (0x7761_7266_2d72_656d, 0x6f74_6566_735f_6e6f);
/// The most numbers to try for one handle.
const MAX_TRIES: u64 = 16;
/// One file in so many is evicted when the table is full.
const EVICTED_SHARE: usize = 16;

/// The number of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Number(u64);

impl From<Number> for vfs::Handle {
    fn from(number: Number) -> vfs::Handle {
        vfs::Handle::from_u64(number.0)
    }
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameIn {
    pub(super) dir: Handle,
    pub(super) name: Box<[u8]>,
}

/// A name in a known directory, as an operation has it.
#[derive(Clone, Copy)]
pub(super) struct NameAt<'n> {
    pub(super) dir: &'n Known,
    pub(super) name: &'n [u8],
}

impl NameAt<'_> {
    /// The same, to be kept.
    pub(super) fn to_owned(self) -> NameIn {
        NameIn::new(self.dir.handle, self.name)
    }
}

impl NameIn {
    pub(super) fn new(dir: Handle, name: &[u8]) -> NameIn {
        NameIn { dir, name: name.into() }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) number: Number,
    pub(super) handle: Handle,
    pub(super) kind: FileKind,
}

#[derive(Debug)]
struct Node {
    handle: Handle,
    kind: FileKind,
    /// The name that last led to it.
    name: Option<NameIn>,
    /// The last listing of a directory.
    listing: Listing,
    /// How many opens it has.
    pins: usize,
    /// When this mount removed its last name, if it did. The server may still have it open for a while.
    gone: Option<Moment>,
    last_use: u64,
}

/// A moment in the order of what happens to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Moment(u64);

/// What a listing keeps from one part to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) verifier: [u8; 8],
    /// The detail that it began with.
    pub(super) detail: Detail,
}

/// All known files.
#[derive(Debug)]
pub(super) struct Handles {
    table: Mutex<Table>,
    max: usize,
}

#[derive(Debug)]
struct Table {
    nodes: HashMap<Number, Node>,
    /// The file that a name last led to, by the number of its directory.
    names: Order<(Number, Box<[u8]>), Handle>,
    /// When this mount last took a name from a file. Answers that were asked for before may tell of such names.
    changed: Moment,
    root: Handle,
    clock: u64,
}

impl Handles {
    pub(super) const ROOT: Number = Number(1);

    /// Makes a table with the root and up to `max` files besides open ones.
    pub(super) fn new(root: &client_files::Entry, max: usize) -> Handles {
        let (names, changed) = (Order::default(), Moment::default());
        let mut table = Table { nodes: HashMap::new(), names, changed, root: root.handle, clock: 0 };
        table.nodes.insert(Self::ROOT, Node { pins: 1, ..Node::new(root) });
        Handles { table: Mutex::new(table), max }
    }

    /// This moment, at which somebody asks for a file.
    pub(super) fn now(&self) -> Moment {
        Moment(self.lock().clock)
    }

    /// The number of a file that a reply named, with the name that leads to it, if any. Nobody changes the name now.
    pub(super) fn meet(&self, entry: &client_files::Entry, name: Option<NameIn>) -> Result<Known> {
        self.meet_asked(self.now(), entry, name)
    }

    /// Like [`Handles::meet`], for the answer to a question. The name may lead to another file since, or to none.
    pub(super) fn meet_asked(&self, asked: Moment, entry: &client_files::Entry, name: Option<NameIn>) -> Result<Known> {
        let mut table = self.lock();
        table.clock += 1;
        let number = table.number_of(&entry.handle)?;
        let clock = table.clock;
        let node = table.nodes.entry(number).or_insert_with(|| Node::new(entry));
        (node.last_use, node.kind) = (clock, entry.attributes.kind);
        node.gone = node.gone.filter(|gone| asked < *gone);
        if let Some(name) = name {
            node.name = Some(name.clone());
            if asked >= table.changed {
                table.note_name(name, entry.handle, self.max);
            }
        }
        if table.nodes.len() > self.max {
            table.forget_oldest();
        }
        Ok(Known { number, handle: entry.handle, kind: entry.attributes.kind })
    }

    /// The file of a number.
    ///
    /// # Errors
    /// [`Error::Stale`] for an evicted one, [`Error::BadHandle`] for anything but a number.
    pub(super) fn find(&self, handle: &vfs::Handle) -> Result<Known> {
        let number = Number(handle.to_u64().ok_or(Error::BadHandle)?);
        let mut table = self.lock();
        table.clock += 1;
        let clock = table.clock;
        let node =
            table.nodes.get_mut(&number).filter(|node| node.gone.is_none() || node.pins > 0).ok_or(Error::Stale)?;
        node.last_use = clock;
        Ok(Known { number, handle: node.handle, kind: node.kind })
    }

    /// Notes that this mount has removed the last name of a file. It is stale unless it is open, or found by a name.
    pub(super) fn note_gone(&self, number: Number) {
        let mut table = self.lock();
        let now = table.tick();
        if let Some(node) = table.nodes.get_mut(&number) {
            node.gone = Some(now);
        }
    }

    /// The directory of a number.
    ///
    /// # Errors
    /// [`Error::NotDirectory`] for other files; otherwise as for [`Handles::find`].
    pub(super) fn find_dir(&self, handle: &vfs::Handle) -> Result<Known> {
        let known = self.find(handle)?;
        if known.kind == FileKind::Directory { Ok(known) } else { Err(Error::NotDirectory) }
    }

    /// The name that last led to a file.
    pub(super) fn name(&self, number: Number) -> Option<NameIn> {
        self.lock().nodes.get(&number)?.name.clone()
    }

    /// Records the new name of a file, if the file is known.
    pub(super) fn name_again(&self, file: &Handle, name: NameIn) {
        let mut table = self.lock();
        let Ok(number) = table.number_of(file) else { return };
        let Some(node) = table.nodes.get_mut(&number) else { return };
        node.name = Some(name.clone());
        table.note_name(name, *file, self.max);
    }

    /// The file that a name last led to, if known.
    pub(super) fn file_at(&self, dir: &Known, name: &[u8]) -> Option<Number> {
        let mut table = self.lock();
        let file = *table.names.get(&(dir.number, name.into()))?;
        table.number_of(&file).ok()
    }

    /// Drops a name that no longer leads to its file. Returns that file.
    pub(super) fn forget_name(&self, dir: &Known, name: &[u8]) -> Option<Handle> {
        let mut table = self.lock();
        table.changed = table.tick();
        table.names.remove(&(dir.number, name.into()))
    }

    /// The last listing of a directory.
    pub(super) fn listing(&self, number: Number) -> Listing {
        self.lock().nodes.get(&number).map_or(Listing::NONE, |node| node.listing)
    }

    pub(super) fn set_listing(&self, number: Number, listing: Listing) {
        if let Some(node) = self.lock().nodes.get_mut(&number) {
            node.listing = listing;
        }
    }

    /// Keeps a file known until it is unpinned as often.
    pub(super) fn pin(&self, known: &Known) {
        let mut table = self.lock();
        let (handle, kind) = (known.handle, known.kind);
        table.nodes.entry(known.number).or_insert_with(|| Node::unnamed(handle, kind)).pins += 1;
    }

    pub(super) fn unpin(&self, number: Number) {
        if let Some(node) = self.lock().nodes.get_mut(&number) {
            node.pins = node.pins.saturating_sub(1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listing {
    const NONE: Listing = Listing { verifier: [0; 8], detail: Detail::Names };
}

impl Node {
    fn new(entry: &client_files::Entry) -> Node {
        Node::unnamed(entry.handle, entry.attributes.kind)
    }

    fn unnamed(handle: Handle, kind: FileKind) -> Node {
        Node { handle, kind, name: None, listing: Listing::NONE, pins: 0, gone: None, last_use: 0 }
    }
}

impl Table {
    fn tick(&mut self) -> Moment {
        self.clock += 1;
        Moment(self.clock)
    }

    /// The number that the handle has or would get.
    fn number_of(&self, handle: &Handle) -> Result<Number> {
        if *handle == self.root {
            return Ok(Handles::ROOT);
        }
        let first = hash(handle);
        let fits = |number: &Number| {
            let is_usable = number.0 > Handles::ROOT.0;
            is_usable && self.nodes.get(number).is_none_or(|node| node.handle == *handle)
        };
        let mut tries = (0..MAX_TRIES).map(|step| Number(first.wrapping_add(step)));
        // Only somebody who searched for collisions can take so many numbers.
        tries.find(fits).ok_or(Error::Stale)
    }

    fn note_name(&mut self, name: NameIn, file: Handle, max: usize) {
        let Ok(dir) = self.number_of(&name.dir) else { return };
        self.names.insert((dir, name.name), file);
        while self.names.len() > max {
            self.names.pop_oldest();
        }
    }

    /// Evicts the least recently used files that are not open.
    fn forget_oldest(&mut self) {
        let mut uses: Vec<u64> = self.nodes.values().filter(|node| node.pins == 0).map(|node| node.last_use).collect();
        if uses.is_empty() {
            return;
        }
        let share = (uses.len() / EVICTED_SHARE).min(uses.len() - 1);
        let (_, limit, _) = uses.select_nth_unstable(share);
        let limit = *limit;
        self.nodes.retain(|_, node| node.pins > 0 || node.last_use > limit);
    }
}

fn hash(handle: &Handle) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(HASH_KEY.0, HASH_KEY.1);
    hasher.write(handle.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vfs::Attributes;

    fn entry(bytes: &[u8]) -> client_files::Entry {
        let attributes = Attributes::new(FileKind::Regular, 1);
        client_files::Entry { handle: Handle::new(bytes).unwrap(), attributes }
    }

    #[test]
    fn handle_has_one_number_however_often_it_is_met_and_whoever_knows_it() {
        let (one, other) = (Handles::new(&entry(b"root"), 10), Handles::new(&entry(b"top"), 10));
        let first = one.meet(&entry(b"file"), None).unwrap().number;
        assert_eq!(one.meet(&entry(b"file"), None).unwrap().number, first);
        assert_eq!(other.meet(&entry(b"file"), None).unwrap().number, first);
        assert_ne!(one.meet(&entry(b"other"), None).unwrap().number, first);
        assert_eq!(one.meet(&entry(b"root"), None).unwrap().number, Handles::ROOT);
    }

    #[test]
    fn handles_with_one_hash_have_two_numbers() {
        let handles = Handles::new(&entry(b"root"), 10);
        let number = Number(hash(&entry(b"mine").handle));
        handles.lock().nodes.insert(number, Node::new(&entry(b"theirs")));
        assert_eq!(handles.meet(&entry(b"mine"), None).unwrap().number, Number(number.0.wrapping_add(1)));
    }

    #[test]
    fn root_and_open_and_recently_used_files_are_not_forgotten() {
        let handles = Handles::new(&entry(b"root"), 100);
        let open = handles.meet(&entry(b"open"), None).unwrap();
        handles.pin(&open);
        let used = handles.meet(&entry(b"used"), None).unwrap();
        let idle = handles.meet(&entry(b"idle"), None).unwrap();
        for number in 0..1000_u32 {
            handles.meet(&entry(&number.to_be_bytes()), None).unwrap();
            handles.find(&used.number.into()).unwrap();
            assert!(handles.lock().nodes.len() <= 101);
        }
        assert!(handles.find(&Handles::ROOT.into()).is_ok());
        assert!(handles.find(&open.number.into()).is_ok());
        assert!(matches!(handles.find(&idle.number.into()), Err(Error::Stale)));
        handles.unpin(open.number);
        assert_eq!(handles.meet(&entry(b"idle"), None).unwrap().number, idle.number);
    }

    #[test]
    fn answer_from_before_a_removal_brings_neither_the_file_nor_its_name_back() {
        let (handles, file) = (Handles::new(&entry(b"root"), 10), entry(b"file"));
        let dir = handles.find(&Handles::ROOT.into()).unwrap();
        let at = NameAt { dir: &dir, name: b"name" };
        let (asked, known) = (handles.now(), handles.meet(&file, Some(at.to_owned())).unwrap());
        assert_eq!(handles.file_at(&dir, at.name), Some(known.number));
        handles.forget_name(&dir, at.name);
        handles.note_gone(known.number);
        handles.meet_asked(asked, &file, Some(at.to_owned())).unwrap();
        assert_eq!(handles.file_at(&dir, at.name), None);
        assert!(matches!(handles.find(&known.number.into()), Err(Error::Stale)));
        handles.meet_asked(handles.now(), &file, Some(at.to_owned())).unwrap();
        assert!(handles.find(&known.number.into()).is_ok());
    }

    #[test]
    fn bytes_that_are_no_number_are_no_handle() {
        let handles = Handles::new(&entry(b"root"), 10);
        assert!(matches!(handles.find(&vfs::Handle::new(b"abc").unwrap()), Err(Error::BadHandle)));
    }
}
