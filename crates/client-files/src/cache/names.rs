//! The files that names in directories lead to, and names that do not exist.
//!
//! An answer is kept with the directory's version at the time of the LOOKUP, and is valid while the directory has that
//! version. All answers of a directory share an edition. When the directory changes it gets a new edition, and the old
//! answers are evicted in their turn.
//!
//! A directory in which many names were missing is listed, if one page suffices. While all its names are known, any
//! other name is missing without a call. The kernel's FUSE looks up every name before it makes a file.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vfs::Name;

use super::Asked;
use super::order::Order;
use super::version::DirVersion;
use crate::{Caching, Handle, NameCaching};

/// How many names are looked up in vain before the directory is listed. A listing costs two calls.
const ABSENCES_BEFORE_LISTING: u32 = 8;

/// Answers to lookups in many directories.
#[derive(Debug)]
pub(crate) struct NameCache {
    names: Mutex<Names>,
    caching: NameCaching,
    /// The longest time that an answer is valid although the directory seems unchanged: where versions are times, two
    /// changes may share one.
    max_age: Duration,
    max_entries: usize,
}

#[derive(Debug, Default)]
struct Names {
    dirs: Order<Handle, Directory>,
    found: Order<(u64, Box<[u8]>), KnownName>,
    editions: u64,
    /// The newest edition of which an answer was evicted, so that its names are no longer all known.
    incomplete: u64,
}

#[derive(Debug)]
struct Directory {
    edition: u64,
    version: Option<DirVersion>,
    /// The count of events when this client changed the directory or learned its version. Calls sent before are stale.
    since: u64,
    /// Whether the next version requested is taken for the result of this client's own change.
    is_own_next: bool,
    /// When all names were listed that are not known otherwise.
    listed: Option<Instant>,
    /// How many names were missing since then, up to the number after which the directory is listed.
    absences: u32,
}

#[derive(Debug, Clone, Copy)]
struct KnownName {
    /// The file, or `Some(None)` if there is none of that name. `None` if that must be looked up, since the name was
    /// listed or changed.
    answer: Option<Option<Handle>>,
    learned: Instant,
}

/// A name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NameAt<'a> {
    pub(crate) dir: &'a Handle,
    pub(crate) name: &'a [u8],
}

impl NameCache {
    pub(crate) fn new(caching: &Caching) -> NameCache {
        NameCache {
            names: Mutex::default(),
            caching: caching.names,
            max_age: caching.dir_max,
            max_entries: caching.max_entries.max(1),
        }
    }

    /// Whether every name is looked up each time, so that nobody needs to revalidate its directory.
    pub(crate) fn keeps_nothing(&self) -> bool {
        self.caching == NameCaching::Off || self.max_age.is_zero()
    }

    /// The file of that name, or `Some(None)` when the name is known not to exist.
    pub(crate) fn look(&self, now: Instant, place: NameAt<'_>, version: DirVersion) -> Option<Option<Handle>> {
        let mut names = self.lock();
        let is_valid = |learned| now.saturating_duration_since(learned) <= self.max_age;
        let dir = names.dirs.get(place.dir).filter(|dir| dir.version == Some(version))?;
        let (key, listed) = ((dir.edition, place.name.into()), dir.listed);
        if let Some(known) = names.found.get(&key) {
            return known.answer.filter(|_| is_valid(known.learned));
        }
        let is_whole = listed.is_some_and(is_valid) && key.0 > names.incomplete;
        (is_whole && is_compared_by_bytes(place.name)).then_some(None)
    }

    /// Whether to list the directory now: so many names were missing that a listing saves calls. It is said once.
    pub(crate) fn wants_listing(&self, place: NameAt<'_>, version: DirVersion) -> bool {
        let mut names = self.lock();
        let dir = names.dirs.get(place.dir).filter(|dir| dir.version == Some(version));
        let Some(dir) = dir.filter(|dir| dir.absences == ABSENCES_BEFORE_LISTING) else { return false };
        let is_wanted = self.caching == NameCaching::All && is_compared_by_bytes(place.name);
        dir.absences += u32::from(is_wanted);
        is_wanted
    }

    /// Takes in all names of a directory, requested when it had that version.
    pub(crate) fn learn_all<'a>(
        &self,
        asked: Asked,
        dir: &Handle,
        version: DirVersion,
        listed: impl Iterator<Item = &'a [u8]>,
    ) {
        let mut names = self.lock();
        let Some(mut edition) = names.edition(dir, version, asked.number) else { return };
        if edition <= names.incomplete {
            edition = names.add(dir, Some(version), asked.number);
        }
        for name in listed {
            let key = (edition, name.into());
            let is_found = names.found.get(&key).is_some_and(|known| known.answer.flatten().is_some());
            if !is_found {
                names.found.insert(key, KnownName { answer: None, learned: asked.time });
            }
        }
        if let Some(dir) = names.dirs.get(dir) {
            (dir.listed, dir.absences) = (Some(asked.time), 0);
        }
        names.shrink(self.max_entries);
    }

    /// Takes in the answer to a LOOKUP that was sent when the directory had that version.
    pub(crate) fn learn(&self, asked: Asked, place: NameAt<'_>, version: DirVersion, file: Option<Handle>) {
        if !self.is_kept(place.name, file) {
            return;
        }
        let mut names = self.lock();
        let Some(edition) = names.edition(place.dir, version, asked.number) else { return };
        names.found.insert((edition, place.name.into()), KnownName { answer: Some(file), learned: asked.time });
        if let Some(dir) =
            names.dirs.get(place.dir).filter(|dir| file.is_none() && dir.absences < ABSENCES_BEFORE_LISTING)
        {
            dir.absences += 1;
        }
        names.shrink(self.max_entries);
    }

    /// Invalidates a name that this client changed, and answers still in flight. Returns the file it led to, if known.
    pub(crate) fn outdate(&self, now: Asked, place: NameAt<'_>) -> Option<Handle> {
        let mut names = self.lock();
        let before = names.outdate(now, place);
        names.shrink(self.max_entries);
        before
    }

    /// Like [`NameCache::outdate`], for a change whose reply carries no version of the directory (RFC 1094). The name
    /// leads to `file` afterwards, if that is known. The next version requested is taken for the result of this change.
    /// Changes by others before that request stay hidden until the names expire.
    pub(crate) fn replace(
        &self,
        asked: Asked,
        now: Asked,
        place: NameAt<'_>,
        file: Option<Option<Handle>>,
    ) -> Option<Handle> {
        let mut names = self.lock();
        // The order of changes that were in flight together is unknown.
        let is_alone = names.dirs.get(place.dir).is_none_or(|dir| dir.since <= asked.number);
        let before = names.outdate(now, place);
        if let Some(dir) = names.dirs.get(place.dir) {
            dir.is_own_next = true;
            let key = (dir.edition, place.name.into());
            if let Some(file) = file.filter(|file| is_alone && self.is_kept(place.name, *file)) {
                names.found.insert(key, KnownName { answer: Some(file), learned: asked.time });
            }
        }
        names.shrink(self.max_entries);
        before
    }

    /// Takes in a directory's version, if it is taken for the result of this client's own change.
    pub(crate) fn take_next(&self, asked: Asked, dir: &Handle, version: DirVersion) {
        let mut names = self.lock();
        if let Some(known) = names.dirs.get(dir)
            && known.is_own_next
            && asked.number >= known.since
        {
            (known.version, known.is_own_next) = (Some(version), false);
        }
    }

    /// Moves a directory on to a version that only this client's changes made: all names that they left alone stay
    /// valid.
    pub(crate) fn carry(&self, dir: &Handle, before: u64, version: DirVersion) {
        let mut names = self.lock();
        if let Some(known) = names.dirs.get(dir)
            && known.version.is_some_and(|version| version.change == before)
        {
            known.version = Some(version);
        }
    }

    fn is_kept(&self, name: &[u8], file: Option<Handle>) -> bool {
        let is_wanted = match self.caching {
            NameCaching::All => true,
            NameCaching::Positive => file.is_some(),
            NameCaching::Off => false,
        };
        is_wanted && name.len() <= Name::MAX_BYTES
    }

    /// How many answers are kept, including those of old editions.
    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.lock().found.len()
    }

    fn lock(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Names {
    /// The edition for answers at that version, or `None` when something newer is known.
    fn edition(&mut self, dir: &Handle, version: DirVersion, asked: u64) -> Option<u64> {
        let Some(known) = self.dirs.get(dir) else { return Some(self.add(dir, Some(version), asked)) };
        if asked < known.since {
            return None;
        }
        if known.version == Some(version) {
            return Some(known.edition);
        }
        Some(self.add(dir, Some(version), asked))
    }

    fn add(&mut self, dir: &Handle, version: Option<DirVersion>, since: u64) -> u64 {
        self.editions += 1;
        let (edition, is_own_next, listed, absences) = (self.editions, false, None, 0);
        self.dirs.insert(*dir, Directory { edition, version, since, is_own_next, listed, absences });
        self.editions
    }

    fn outdate(&mut self, now: Asked, place: NameAt<'_>) -> Option<Handle> {
        let Some(dir) = self.dirs.get(place.dir) else {
            self.add(place.dir, None, now.number);
            return None;
        };
        dir.since = dir.since.max(now.number);
        let (key, is_listed) = ((dir.edition, place.name.into()), dir.listed.is_some());
        let before = self.found.remove(&key);
        if is_listed {
            self.found.insert(key, KnownName { answer: None, learned: now.time });
        }
        before?.answer.flatten()
    }

    fn shrink(&mut self, max_entries: usize) {
        while self.found.len() > max_entries {
            let Some(((edition, _), _)) = self.found.pop_oldest() else { break };
            self.incomplete = self.incomplete.max(edition);
        }
        while self.dirs.len() > max_entries {
            self.dirs.pop_oldest();
        }
    }
}

/// Whether the server finds this name by its bytes alone. Some normalize names beyond ASCII.
fn is_compared_by_bytes(name: &[u8]) -> bool {
    name.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::AttributeCache;
    use vfs::{Attributes, FileKind};

    struct Bench {
        attributes: AttributeCache,
        names: NameCache,
        dir: Handle,
    }

    impl Bench {
        fn new(caching: Caching) -> Bench {
            let (attributes, names) = (AttributeCache::new(&caching), NameCache::new(&caching));
            Bench { attributes, names, dir: handle(0) }
        }

        fn place<'a>(&'a self, name: &'a str) -> NameAt<'a> {
            NameAt { dir: &self.dir, name: name.as_bytes() }
        }

        fn learn(&self, name: &str, change: u64, file: Option<Handle>) {
            self.names.learn(self.attributes.ask(Instant::now()), self.place(name), version(change), file);
        }

        fn look(&self, name: &str, change: u64) -> Option<Option<Handle>> {
            self.names.look(Instant::now(), self.place(name), version(change))
        }

        /// What a change by this client does.
        fn outdate(&self, name: &str) {
            self.names.outdate(self.attributes.turn(Instant::now()), self.place(name));
        }
    }

    fn handle(number: u8) -> Handle {
        Handle::new(&[number]).unwrap()
    }

    fn version(change: u64) -> DirVersion {
        DirVersion::of(&Attributes { change, ..Attributes::new(FileKind::Directory, 1) })
    }

    #[test]
    fn answers_are_of_one_version_of_the_directory() {
        let bench = Bench::new(Caching::default());
        bench.learn("a", 1, Some(handle(1)));
        bench.learn("b", 1, None);
        assert_eq!((bench.look("a", 1), bench.look("b", 1)), (Some(Some(handle(1))), Some(None)));
        assert_eq!((bench.look("a", 2), bench.look("c", 1)), (None, None));
        bench.learn("c", 2, None);
        assert_eq!((bench.look("a", 2), bench.look("a", 1), bench.look("c", 2)), (None, None, Some(None)));
    }

    #[test]
    fn absence_is_kept_only_where_it_is_wanted() {
        let positive = Bench::new(Caching { names: NameCaching::Positive, ..Caching::default() });
        let off = Bench::new(Caching { names: NameCaching::Off, ..Caching::default() });
        for bench in [&positive, &off] {
            bench.learn("here", 1, Some(handle(1)));
            bench.learn("gone", 1, None);
            assert_eq!(bench.look("gone", 1), None);
        }
        assert_eq!((positive.look("here", 1), off.look("here", 1)), (Some(Some(handle(1))), None));
    }

    #[test]
    fn own_change_ends_what_is_known_of_its_name_and_what_is_under_way_in_its_directory() {
        let bench = Bench::new(Caching::default());
        bench.learn("a", 1, Some(handle(1)));
        bench.learn("b", 1, Some(handle(2)));
        let asked = bench.attributes.ask(Instant::now());
        bench.outdate("a");
        bench.names.learn(asked, bench.place("a"), version(1), Some(handle(1)));
        assert_eq!((bench.look("a", 1), bench.look("b", 1)), (None, Some(Some(handle(2)))));
        bench.learn("a", 1, None);
        assert_eq!(bench.look("a", 1), Some(None));
    }

    #[test]
    fn other_names_outlive_an_own_change_and_no_other_one() {
        let bench = Bench::new(Caching::default());
        bench.learn("a", 1, Some(handle(1)));
        bench.learn("b", 1, Some(handle(2)));
        bench.outdate("a");
        bench.names.carry(&bench.dir, 1, version(2));
        assert_eq!((bench.look("a", 2), bench.look("b", 2)), (None, Some(Some(handle(2)))));
        bench.names.carry(&bench.dir, 3, version(4));
        assert_eq!((bench.look("b", 4), bench.look("b", 2)), (None, Some(Some(handle(2)))));
    }

    #[test]
    fn own_change_of_which_nobody_tells_the_version_is_taken_for_what_made_the_next_one() {
        let bench = Bench::new(Caching::default());
        bench.learn("a", 1, Some(handle(1)));
        bench.learn("b", 1, Some(handle(2)));
        let replace = |asked, name, file| {
            bench.names.replace(asked, bench.attributes.turn(Instant::now()), bench.place(name), file);
        };
        let asked = bench.attributes.ask(Instant::now());
        replace(asked, "a", Some(Some(handle(3))));
        bench.names.take_next(asked, &bench.dir, version(2));
        assert_eq!(bench.look("b", 2), None, "asked for before the change was made");
        bench.names.take_next(bench.attributes.ask(Instant::now()), &bench.dir, version(3));
        assert_eq!((bench.look("a", 3), bench.look("b", 3)), (Some(Some(handle(3))), Some(Some(handle(2)))));
        bench.names.take_next(bench.attributes.ask(Instant::now()), &bench.dir, version(4));
        assert_eq!((bench.look("b", 4), bench.look("b", 3)), (None, Some(Some(handle(2)))), "that was somebody else");
        let together = [bench.attributes.ask(Instant::now()), bench.attributes.ask(Instant::now())];
        replace(together[0], "a", Some(None));
        replace(together[1], "a", Some(Some(handle(4))));
        bench.names.take_next(bench.attributes.ask(Instant::now()), &bench.dir, version(5));
        assert_eq!(bench.look("a", 5), None, "one of them was made first");
    }

    #[test]
    fn own_change_of_a_directory_that_is_not_known_ends_what_is_under_way() {
        let bench = Bench::new(Caching::default());
        let asked = bench.attributes.ask(Instant::now());
        bench.outdate("a");
        bench.names.learn(asked, bench.place("a"), version(1), Some(handle(1)));
        assert_eq!(bench.look("a", 1), None);
    }

    /// A directory of the names `a` and `b`, listed at version 1.
    fn listed(caching: Caching) -> Bench {
        let bench = Bench::new(caching);
        let names: [&[u8]; 2] = [b"a", b"b"];
        bench.names.learn_all(bench.attributes.ask(Instant::now()), &bench.dir, version(1), names.into_iter());
        bench
    }

    #[test]
    fn listed_directory_has_no_other_names() {
        let bench = listed(Caching::default());
        assert_eq!((bench.look("a", 1), bench.look("c", 1), bench.look("c", 2)), (None, Some(None), None));
        assert_eq!(bench.look("caf\u{e9}", 1), None, "the server may find it by other bytes");
    }

    #[test]
    fn listed_directory_stays_known_over_own_changes_and_no_others() {
        let bench = listed(Caching::default());
        bench.outdate("c");
        assert_eq!(bench.look("c", 1), None, "made or not");
        bench.names.carry(&bench.dir, 1, version(2));
        assert_eq!((bench.look("c", 2), bench.look("d", 2)), (None, Some(None)));
        bench.learn("c", 2, Some(handle(3)));
        assert_eq!(bench.look("c", 2), Some(Some(handle(3))));
        bench.learn("e", 3, None);
        assert_eq!(bench.look("d", 3), None);
    }

    #[test]
    fn listing_that_an_own_change_overtook_is_ignored() {
        let bench = Bench::new(Caching::default());
        let asked = bench.attributes.ask(Instant::now());
        bench.outdate("a");
        bench.names.learn_all(asked, &bench.dir, version(1), std::iter::empty());
        assert_eq!(bench.look("a", 1), None);
    }

    #[test]
    fn listing_wins_over_an_older_absence() {
        let bench = Bench::new(Caching::default());
        bench.learn("a", 1, None);
        let names: [&[u8]; 1] = [b"a"];
        bench.names.learn_all(bench.attributes.ask(Instant::now()), &bench.dir, version(1), names.into_iter());
        assert_eq!(bench.look("a", 1), None);
    }

    #[test]
    fn directory_with_an_evicted_name_is_not_taken_as_listed() {
        let bench = listed(Caching { max_entries: 2, ..Caching::default() });
        assert_eq!(bench.look("c", 1), Some(None));
        bench.learn("d", 1, Some(handle(1)));
        assert_eq!((bench.look("c", 1), bench.look("a", 1)), (None, None));
    }

    #[test]
    fn directory_is_listed_once_after_many_absences() {
        let bench = Bench::new(Caching::default());
        let wants = || bench.names.wants_listing(bench.place("x"), version(1));
        for number in 0..ABSENCES_BEFORE_LISTING {
            assert!(!wants());
            bench.learn(&number.to_string(), 1, None);
        }
        assert_eq!((wants(), wants()), (true, false));
    }

    #[tokio::test(start_paused = true)]
    async fn listing_expires() {
        let bench = listed(Caching::default());
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(bench.look("c", 1), None);
    }

    #[tokio::test(start_paused = true)]
    async fn answer_is_not_believed_for_ever() {
        let bench = Bench::new(Caching::default());
        bench.learn("a", 1, None);
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(bench.look("a", 1), None);
    }

    #[test]
    fn only_so_many_names_and_directories_are_known() {
        let bench = Bench::new(Caching { max_entries: 5, ..Caching::default() });
        for number in 0..100 {
            bench.learn(&number.to_string(), 1, None);
            let other = NameAt { dir: &handle(number), name: b"a" };
            bench.names.learn(bench.attributes.ask(Instant::now()), other, version(1), None);
        }
        bench.learn(&"x".repeat(256), 1, None);
        let names = bench.names.lock();
        assert_eq!((names.found.len(), names.dirs.len()), (5, 5));
    }
}
