//! The files that a capture is about, as far as its calls and replies show them: which there were at its start, where,
//! and with how many bytes.
//!
//! The first evidence of a name decides whether it was there: a LOOKUP that finds it, a REMOVE that succeeds; or a
//! CREATE, an error. What calls of the capture made is not there at the start, also if others saw it before the reply.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::ops::Range;

use client::Handle;
use client::proto::nfs3::{DirOp, Fattr, FileHandle, FileType, WccData};

use super::ids::{Change, FileId, NameId, Place};
use super::left_out::LeftOut;

/// The most files, and the most names.
const MAX_FILES: usize = 1_000_000;
const MAX_NAMES: usize = 2_000_000;
/// The most calls without a reply that are kept of a name.
const MAX_UNANSWERED: usize = 16;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Regular,
    Directory,
    Symlink,
}

/// Where a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was there, nobody knows where.
    Unplaced,
    /// It was there, at this place.
    At(Place),
    /// A call of the capture made it.
    Made,
}

/// A file of the capture.
#[derive(Debug)]
pub(super) struct File {
    pub kind: Option<Kind>,
    pub origin: Origin,
    /// The call whose reply first has its handle, if it was made.
    pub made_by: Option<u32>,
    /// Its size at the start.
    pub size: Option<u64>,
    /// What calls asked to read of it.
    pub asked: Vec<Range<u64>>,
    /// The end of what was read of it.
    pub read_end: Option<u64>,
    /// The connections that used it since the last change.
    users: Users,
    /// The last call of each connection that opened, locked, unlocked or closed it.
    pub opened_by: Latest,
    has_handle: bool,
    /// Whether a reply has shown that it exists.
    exists: bool,
    /// Whether the server did not know its handle.
    is_stale: bool,
    /// Whether the capture has calls that change its size.
    is_changed: bool,
}

impl File {
    /// Whether it was gone before the capture began.
    pub(super) fn is_gone(&self) -> bool {
        self.is_stale && !self.exists
    }
}

/// What a name stands for now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Binding {
    #[default]
    Unknown,
    Absent,
    Bound(FileId),
}

/// Connections, each once.
#[derive(Debug, Default, Clone)]
pub(super) struct Users(pub Vec<u32>);

impl Users {
    pub(super) fn add(&mut self, connection: u32) {
        if !self.0.contains(&connection) {
            self.0.push(connection);
        }
    }

    pub(super) fn take(&mut self, others: &mut Users) {
        std::mem::take(&mut others.0).into_iter().for_each(|connection| self.add(connection));
    }
}

/// The last call of each connection.
#[derive(Debug, Default)]
pub(super) struct Latest(Vec<(u32, u32)>);

impl Latest {
    pub(super) fn note(&mut self, connection: u32, call: u32) {
        self.0.retain(|(other, _)| *other != connection);
        self.0.push((connection, call));
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(_, call)| *call)
    }
}

#[derive(Debug, Default, Clone)]
struct Name {
    now: Binding,
    /// The file that a walk expects there, before a reply shows one.
    expected: Option<FileId>,
    /// The connections that used it since the last change.
    users: Users,
    /// The last call that changed it.
    changed_by: Option<u32>,
    /// The calls without a reply that bring a file there, and how.
    arriving: Vec<(u32, Change)>,
}

impl Name {
    /// The call that may have brought a file there that is seen now for the first time, although its reply is not
    /// there.
    fn brought_by(&self, is_known: bool) -> Option<u32> {
        let is_absent = self.now == Binding::Absent;
        let brings = |change: Change| match change {
            Change::Makes => true,
            Change::MakesOrTakes => is_absent,
            Change::MovesTo => is_known,
            Change::Removes => false,
        };
        self.arriving.iter().find(|(_, change)| brings(*change)).map(|(call, _)| *call)
    }
}

/// The files and names of a capture.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub files: Vec<File>,
    /// Further names of files at the start.
    pub links: Vec<(FileId, Place)>,
    names: Vec<Name>,
    by_handle: HashMap<u64, FileId>,
    by_name: HashMap<(FileId, u64), u32>,
    hasher: RandomState,
}

/// The numbers of what a call to one server names.
pub(super) struct NumbersOf<'t> {
    pub tree: &'t mut Tree,
    pub server: IpAddr,
}

impl NumbersOf<'_> {
    /// The number of a handle.
    pub(super) fn file(&mut self, handle: &FileHandle) -> Result<FileId, LeftOut> {
        self.tree.file(self.server, (*handle).into())
    }

    /// The number of a name.
    pub(super) fn place(&mut self, place: &DirOp<'_>) -> Result<Place, LeftOut> {
        let dir = self.file(&place.dir)?;
        self.tree.place(dir, place.name)
    }
}

impl Tree {
    pub(super) fn file(&mut self, server: IpAddr, handle: Handle) -> Result<FileId, LeftOut> {
        if let Some(known) = self.known(server, handle) {
            return Ok(known);
        }
        let file = self.new_file(None, Origin::Unplaced)?;
        self.give_handle(file, server, handle);
        Ok(file)
    }

    pub(super) fn place(&mut self, dir: FileId, name: &[u8]) -> Result<Place, LeftOut> {
        let name = match name {
            b"." => NameId::This,
            b".." => NameId::Parent,
            name => {
                let key = (dir, self.hasher.hash_one(name));
                let next = self.names.len();
                let number = *self.by_name.entry(key).or_insert(next as u32);
                if number as usize == next {
                    if next >= MAX_NAMES {
                        self.by_name.remove(&key);
                        return Err(LeftOut::TooMany);
                    }
                    self.names.push(Name::default());
                }
                NameId::Invented(number)
            }
        };
        Ok(Place { dir, name })
    }

    fn new_file(&mut self, kind: Option<Kind>, origin: Origin) -> Result<FileId, LeftOut> {
        if self.files.len() >= MAX_FILES {
            return Err(LeftOut::TooMany);
        }
        self.files.push(File {
            kind,
            origin,
            made_by: None,
            size: None,
            asked: Vec::new(),
            read_end: None,
            users: Users::default(),
            opened_by: Latest::default(),
            has_handle: false,
            exists: false,
            is_stale: false,
            is_changed: false,
        });
        Ok(FileId(self.files.len() as u32 - 1))
    }

    pub(super) fn give_handle(&mut self, file: FileId, server: IpAddr, handle: Handle) {
        self.by_handle.insert(self.hasher.hash_one((server, handle)), file);
        self[file].has_handle = true;
    }

    /// The file of a handle. Handles and names are as good as their hashes here: two that are mistaken for one change
    /// the load by one file.
    pub(super) fn known(&self, server: IpAddr, handle: Handle) -> Option<FileId> {
        self.by_handle.get(&self.hasher.hash_one((server, handle))).copied()
    }

    fn name_mut(&mut self, place: Place) -> Option<&mut Name> {
        match place.name {
            NameId::Invented(number) => self.names.get_mut(number as usize),
            NameId::This | NameId::Parent => None,
        }
    }

    fn binding(&mut self, place: Place) -> Option<Binding> {
        self.name_mut(place).map(|name| name.now)
    }

    fn bind(&mut self, place: Place, now: Binding) {
        if let Some(name) = self.name_mut(place) {
            (name.now, name.expected) = (now, None);
        }
    }

    /// The file that a name stands for, or will if a call finds or makes one; nothing for `.` and `..`.
    pub(super) fn behind(&mut self, place: Place) -> Result<Option<FileId>, LeftOut> {
        let Some(name) = self.name_mut(place) else { return Ok(None) };
        match (name.now, name.expected) {
            (Binding::Bound(file), _) | (_, Some(file)) => Ok(Some(file)),
            (Binding::Unknown | Binding::Absent, None) => {
                let file = self.new_file(None, Origin::Made)?;
                self.name_mut(place).into_iter().for_each(|name| name.expected = Some(file));
                Ok(Some(file))
            }
        }
    }

    /// The file that is expected behind a name, or a new one.
    fn expected(&mut self, place: Place, kind: Option<Kind>) -> Result<FileId, LeftOut> {
        match self.name_mut(place).and_then(|name| name.expected) {
            Some(file) => {
                self[file].kind = self[file].kind.or(kind);
                Ok(file)
            }
            None => self.new_file(kind, Origin::Made),
        }
    }

    /// The directory that a file was found in.
    pub(super) fn parent(&self, file: FileId) -> Option<FileId> {
        match self[file].origin {
            Origin::At(place) => Some(place.dir),
            Origin::Unplaced | Origin::Made => None,
        }
    }

    /// The last call that changed a name.
    pub(super) fn changed_by(&self, place: Place) -> Option<u32> {
        match place.name {
            NameId::Invented(number) => self.names.get(number as usize)?.changed_by,
            NameId::This | NameId::Parent => None,
        }
    }

    /// Notes that a call changes a name.
    pub(super) fn note_change(&mut self, place: Place, change: Change, call: u32) {
        if let Some(name) = self.name_mut(place) {
            name.changed_by = Some(call);
            if change != Change::Removes {
                let excess = (name.arriving.len() + 1).saturating_sub(MAX_UNANSWERED);
                name.arriving.drain(..excess);
                name.arriving.push((call, change));
            }
        }
    }

    /// Notes that the reply to a call is there that changes a name.
    pub(super) fn note_answer(&mut self, place: Place, call: u32) {
        if let Some(name) = self.name_mut(place) {
            name.arriving.retain(|(other, _)| *other != call);
        }
    }

    fn brought_by(&mut self, place: Place, is_known: bool) -> Option<u32> {
        self.name_mut(place)?.brought_by(is_known)
    }

    /// Notes what a call supposes a file to be, unless that is known.
    pub(super) fn suppose(&mut self, file: FileId, kind: Kind) {
        self[file].kind.get_or_insert(kind);
    }

    /// Notes that a call changes the size of a file.
    pub(super) fn note_resize(&mut self, file: FileId) {
        self[file].is_changed = true;
    }

    pub(super) fn note_stale(&mut self, file: FileId) {
        self[file].is_stale = true;
    }

    pub(super) fn note_exists(&mut self, file: FileId) {
        self[file].exists = true;
    }

    /// Learns from the attributes of a file.
    pub(super) fn note_attributes(&mut self, file: FileId, attributes: Option<&Fattr>) {
        let Some(attributes) = attributes else { return };
        let kind = match attributes.file_type {
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Symlink,
            _ => Kind::Regular,
        };
        self.note_kind_and_size(file, Some(kind), Some(attributes.size));
    }

    /// Learns what a file is, and its size.
    pub(super) fn note_kind_and_size(&mut self, file: FileId, kind: Option<Kind>, size: Option<u64>) {
        let file = &mut self[file];
        file.exists = true;
        file.kind = kind.or(file.kind);
        if !file.is_changed {
            file.size = file.size.or(size);
        }
    }

    /// Learns from the attributes before and after a change.
    pub(super) fn note_wcc(&mut self, file: FileId, wcc: &WccData) {
        if let Some(before) = wcc.before {
            self[file].size.get_or_insert(before.size);
        }
        self.note_attributes(file, wcc.after.as_ref());
    }

    /// Notes that a call asks for bytes.
    pub(super) fn note_asked(&mut self, file: FileId, asked: Range<u64>) {
        let file = &mut self[file];
        match file.asked.last_mut() {
            Some(last) if last.end == asked.start => last.end = asked.end,
            Some(last) if *last == asked => {}
            _ if asked.is_empty() => {}
            _ => file.asked.push(asked),
        }
    }

    /// Notes that bytes up to this one were read.
    pub(super) fn note_read(&mut self, file: FileId, end: u64) {
        let file = &mut self[file];
        file.read_end = file.read_end.max(Some(end));
    }

    /// Notes that a connection uses files and names.
    pub(super) fn note_use(&mut self, files: Vec<FileId>, places: Vec<Place>, connection: u32) {
        for file in files {
            self[file].users.add(connection);
        }
        for place in places {
            if let Some(name) = self.name_mut(place) {
                name.users.add(connection);
            }
            if let Some(Binding::Bound(file)) = self.binding(place) {
                self[file].users.add(connection);
            }
        }
    }

    /// Takes the connections that have used what a call changes: names, and the files that lose them or bytes.
    pub(super) fn take_users(&mut self, resized: Option<FileId>, changed: impl Iterator<Item = Place>) -> Users {
        let mut users = Users::default();
        if let Some(file) = resized {
            users.take(&mut self[file].users);
        }
        for place in changed {
            if let Some(name) = self.name_mut(place) {
                users.take(&mut name.users);
            }
            if let Some(Binding::Bound(file)) = self.binding(place) {
                users.take(&mut self[file].users);
            }
        }
        users
    }

    /// Notes that a name was found, with the handle behind it.
    pub(super) fn note_found(
        &mut self,
        place: Place,
        server: IpAddr,
        handle: Handle,
        call: u32,
    ) -> Result<FileId, LeftOut> {
        let known = self.known(server, handle);
        if let (None, Some(Binding::Bound(file))) = (known, self.binding(place))
            && !self[file].has_handle
        {
            self.give_handle(file, server, handle);
            self[file].made_by = (self[file].origin == Origin::Made).then_some(call);
            return Ok(file);
        }
        let brought_by = self.brought_by(place, known.is_some());
        let file = match known {
            Some(file) => file,
            None => self.found(place, server, handle, brought_by)?,
        };
        if self.binding(place) == Some(Binding::Unknown) && brought_by.is_none() {
            self.place_at_start(file, place);
        }
        self.bind(place, Binding::Bound(file));
        Ok(file)
    }

    /// A file that shows its handle for the first time.
    fn found(
        &mut self,
        place: Place,
        server: IpAddr,
        handle: Handle,
        brought_by: Option<u32>,
    ) -> Result<FileId, LeftOut> {
        let file = self.expected(place, None)?;
        self.give_handle(file, server, handle);
        match brought_by {
            Some(call) => self[file].made_by = Some(call),
            None => self[file].origin = Origin::Unplaced,
        }
        Ok(file)
    }

    fn place_at_start(&mut self, file: FileId, place: Place) {
        match self[file].origin {
            Origin::Unplaced => self[file].origin = Origin::At(place),
            Origin::At(_) if self[file].kind != Some(Kind::Directory) => self.links.push((file, place)),
            Origin::At(_) | Origin::Made => {}
        }
    }

    /// Notes that a name existed, though not which file it was. Returns that file.
    pub(super) fn note_existed(&mut self, place: Place, kind: Kind) -> Result<Option<FileId>, LeftOut> {
        match self.binding(place) {
            Some(Binding::Bound(file)) => Ok(Some(file)),
            Some(Binding::Unknown) if self.brought_by(place, false).is_none() => {
                let file = self.expected(place, Some(kind))?;
                self[file].origin = Origin::At(place);
                self.bind(place, Binding::Bound(file));
                Ok(Some(file))
            }
            Some(Binding::Unknown | Binding::Absent) | None => Ok(None),
        }
    }

    /// Notes that a name does not exist now.
    pub(super) fn note_absent(&mut self, place: Place) {
        self.bind(place, Binding::Absent);
    }

    /// Notes that a name stands for this file now.
    pub(super) fn note_bound(&mut self, place: Place, file: Option<FileId>) {
        self.bind(place, file.map_or(Binding::Absent, Binding::Bound));
    }

    /// Notes that a call made a file with this name, unless it was there. Returns it.
    pub(super) fn note_made(
        &mut self,
        place: Place,
        made: Option<(IpAddr, Handle)>,
        kind: Kind,
        call: u32,
    ) -> Result<FileId, LeftOut> {
        let known = made.and_then(|(server, handle)| self.known(server, handle));
        let bound = match self.binding(place) {
            Some(Binding::Bound(file)) => Some(file),
            _ => None,
        };
        // CREATE UNCHECKED takes a file that exists.
        if let Some(existing) = known.or(bound.filter(|_| made.is_none())) {
            if self.binding(place) == Some(Binding::Unknown) {
                self.place_at_start(existing, place);
            }
            self.bind(place, Binding::Bound(existing));
            return Ok(existing);
        }
        if let (Some((server, handle)), Some(file)) = (made, bound.filter(|file| !self[*file].has_handle)) {
            self.give_handle(file, server, handle);
            return Ok(file);
        }
        let file = self.expected(place, Some(kind))?;
        if let Some((server, handle)) = made {
            self.give_handle(file, server, handle);
            self[file].made_by = Some(call);
        }
        self.bind(place, Binding::Bound(file));
        Ok(file)
    }
}

impl std::ops::Index<FileId> for Tree {
    type Output = File;

    fn index(&self, file: FileId) -> &File {
        &self.files[file.0 as usize]
    }
}

impl std::ops::IndexMut<FileId> for Tree {
    fn index_mut(&mut self, file: FileId) -> &mut File {
        &mut self.files[file.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn handle(number: u8) -> Handle {
        Handle::new(&[number; 20]).unwrap()
    }

    /// A tree with a directory, and a place in it.
    fn tree() -> (Tree, Place) {
        let mut tree = Tree::default();
        let dir = tree.file(SERVER, handle(0)).unwrap();
        let place = tree.place(dir, b"name").unwrap();
        (tree, place)
    }

    #[test]
    fn first_evidence_of_a_name_decides_whether_it_was_there() {
        let (mut tree, place) = tree();
        let found = tree.note_found(place, SERVER, handle(1), 0).unwrap();
        assert_eq!(tree[found].origin, Origin::At(place));

        let (mut tree, place) = self::tree();
        tree.note_absent(place);
        let made = tree.note_made(place, Some((SERVER, handle(1))), Kind::Regular, 7).unwrap();
        assert_eq!((tree[made].origin, tree[made].made_by), (Origin::Made, Some(7)));
        assert_eq!(tree.note_found(place, SERVER, handle(1), 8).unwrap(), made);
        assert_eq!((tree[made].origin, tree[made].made_by), (Origin::Made, Some(7)));
    }

    #[test]
    fn file_that_is_seen_before_the_reply_of_the_call_that_made_it_was_not_there() {
        let seen = |change, is_absent| {
            let (mut tree, place) = tree();
            if is_absent {
                tree.note_absent(place);
            }
            tree.note_change(place, change, 5);
            let listed = tree.note_existed(place, Kind::Regular).unwrap();
            let found = tree.note_found(place, SERVER, handle(1), 6).unwrap();
            tree.note_answer(place, 5);
            assert_eq!(tree.note_made(place, Some((SERVER, handle(1))), Kind::Regular, 5).unwrap(), found);
            (listed.is_some(), tree[found].origin == Origin::Made, tree[found].made_by)
        };
        let made = (false, true, Some(5));
        assert_eq!([seen(Change::Makes, true), seen(Change::Makes, false)], [made; 2]);
        assert_eq!(seen(Change::MakesOrTakes, true), made);
        assert_eq!(seen(Change::MakesOrTakes, false), (true, false, None), "it may have been there");
        assert_eq!(seen(Change::Removes, false), (true, false, None));
    }

    #[test]
    fn name_that_a_file_is_moved_or_linked_to_is_no_link_at_the_start() {
        for change in [Change::MovesTo, Change::Makes] {
            let (mut tree, place) = tree();
            let other = tree.place(place.dir, b"other").unwrap();
            let file = tree.note_found(place, SERVER, handle(1), 0).unwrap();
            tree.note_change(other, change, 1);
            assert_eq!(tree.note_found(other, SERVER, handle(1), 2).unwrap(), file);
            assert!(tree.links.is_empty());
        }
    }

    #[test]
    fn of_two_calls_that_make_a_name_the_refused_one_does_not_show_that_it_was_there() {
        let (mut tree, place) = tree();
        [3, 4].into_iter().for_each(|call| tree.note_change(place, Change::Makes, call));
        tree.note_answer(place, 4);
        assert_eq!(tree.note_existed(place, Kind::Directory), Ok(None));
        tree.note_answer(place, 3);
        let made = tree.note_made(place, Some((SERVER, handle(1))), Kind::Directory, 3).unwrap();
        assert_eq!((tree[made].origin, tree[made].made_by), (Origin::Made, Some(3)));
    }

    #[test]
    fn calls_without_replies_are_forgotten_beyond_the_limit() {
        let (mut tree, place) = tree();
        (0..100).for_each(|call| tree.note_change(place, Change::Makes, call));
        assert_eq!(tree.names[0].arriving.len(), MAX_UNANSWERED);
    }

    #[test]
    fn file_made_without_a_handle_is_the_one_that_is_found_there() {
        let (mut tree, place) = tree();
        let made = tree.note_made(place, None, Kind::Regular, 1).unwrap();
        assert_eq!(tree.note_found(place, SERVER, handle(1), 2).unwrap(), made);
        assert_eq!(tree[made].made_by, Some(2));
    }

    #[test]
    fn removed_file_was_there_and_a_new_one_of_its_name_is_another() {
        let (mut tree, place) = tree();
        let removed = tree.note_existed(place, Kind::Regular).unwrap().unwrap();
        tree.note_absent(place);
        let made = tree.note_made(place, Some((SERVER, handle(1))), Kind::Regular, 3).unwrap();
        assert_eq!((tree[removed].origin, tree[made].origin), (Origin::At(place), Origin::Made));
    }

    #[test]
    fn second_name_of_a_file_is_a_link_at_the_start() {
        let (mut tree, place) = tree();
        let other = tree.place(place.dir, b"other").unwrap();
        let file = tree.note_found(place, SERVER, handle(1), 0).unwrap();
        assert_eq!(tree.note_found(other, SERVER, handle(1), 1).unwrap(), file);
        assert_eq!(tree.links, [(file, other)]);
    }

    #[test]
    fn existing_file_that_create_takes_is_not_made() {
        let (mut tree, place) = tree();
        let file = tree.note_found(place, SERVER, handle(1), 0).unwrap();
        assert_eq!(tree.note_made(place, Some((SERVER, handle(1))), Kind::Regular, 5).unwrap(), file);
        assert_eq!(tree[file].origin, Origin::At(place));
    }

    #[test]
    fn file_has_data_where_it_is_read_up_to_its_size() {
        let (mut tree, place) = tree();
        let file = tree.note_found(place, SERVER, handle(1), 0).unwrap();
        for asked in [40..50, 0..10, 10..20, 15..30, 0..10, 90..200] {
            tree.note_asked(file, asked);
        }
        let contents = tree[file].contents();
        assert_eq!((contents.size, contents.data), (200, vec![0..30, 40..50, 90..200]), "no reply was captured");
        tree.note_read(file, 150);
        let contents = tree[file].contents();
        assert_eq!((contents.size, contents.data), (150, vec![0..30, 40..50, 90..150]));
        tree[file].size = Some(100);
        let contents = tree[file].contents();
        assert_eq!((contents.size, contents.data_bytes(), contents.data), (100, 50, vec![0..30, 40..50, 90..100]));
    }

    #[test]
    fn names_beyond_the_limit_are_refused() {
        let (mut tree, place) = tree();
        tree.names = vec![Name::default(); MAX_NAMES];
        assert_eq!(tree.place(place.dir, b"one more"), Err(LeftOut::TooMany));
        assert_eq!(tree.place(place.dir, b".."), Ok(Place { dir: place.dir, name: NameId::Parent }));
    }
}
