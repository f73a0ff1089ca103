//! Listings of directories, page by page as the server sent them.
//!
//! The pages of one directory follow on each other from its beginning and were all read at one version of the
//! directory. A listing may be continued behind any of their entries. Attributes are kept in the attribute cache
//! instead.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client_calls::{DirPosition, Page};
use tokio::time::Instant;

use super::Asked;
use super::order::Order;
use super::version::DirVersion;
use crate::{Caching, Detail, Handle};

/// Bytes of listings allowed for each entry that other caches may have.
pub(super) const BYTES_PER_ENTRY: usize = 512;

/// Listings of many directories.
#[derive(Debug)]
pub(crate) struct DirectoryCache {
    listings: Mutex<Listings>,
    /// The longest time that a listing is valid although the directory seems unchanged: where versions are times, two
    /// changes may share one.
    max_age: Duration,
    max_dirs: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Listings {
    of: Order<Handle, Listing>,
    bytes: usize,
}

#[derive(Debug)]
struct Listing {
    /// `None` when this client changed the directory since.
    version: Option<DirVersion>,
    /// The count of events when this client changed the directory or requested the first page. Calls sent before are
    /// stale.
    since: u64,
    begun: Instant,
    pages: Vec<Arc<KeptPage>>,
    /// The page of the last look; the next look is mostly on it or on the one behind it.
    last_look: usize,
    bytes: usize,
}

/// A page as received in one reply.
#[derive(Debug)]
pub(crate) struct KeptPage {
    pub(crate) entries: Vec<KeptEntry>,
    detail: Detail,
    from: DirPosition,
    pub(crate) next: DirPosition,
    pub(crate) is_last: bool,
    bytes: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct KeptEntry {
    pub(crate) name: Box<[u8]>,
    pub(crate) fileid: u64,
    pub(crate) cookie: u64,
    pub(crate) file: Option<Handle>,
}

/// A page and how many of its entries stand before the requested position.
#[derive(Debug, Clone)]
pub(crate) struct KeptPart {
    pub(crate) page: Arc<KeptPage>,
    pub(crate) skipped: usize,
}

/// The requested part of a directory in one version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) dir: &'a Handle,
    pub(crate) version: DirVersion,
    pub(crate) from: DirPosition,
    pub(crate) detail: Detail,
}

impl DirectoryCache {
    pub(crate) fn new(caching: &Caching) -> DirectoryCache {
        DirectoryCache {
            listings: Mutex::default(),
            max_age: caching.dir_max,
            max_dirs: caching.max_entries.max(1),
            max_bytes: caching.max_entries.saturating_mul(BYTES_PER_ENTRY),
        }
    }

    /// The cached names from that position on.
    pub(crate) fn look(&self, now: Instant, part: Part<'_>) -> Option<KeptPart> {
        self.lock().believed(now, part, self.max_age)?.find(part.from, part.detail)
    }

    /// Whether the whole directory is cached.
    pub(crate) fn is_whole(&self, now: Instant, part: Part<'_>) -> bool {
        let mut listings = self.lock();
        let Some(listing) = listings.believed(now, part, self.max_age) else { return false };
        listing.pages.last().is_some_and(|page| page.is_last) && listing.pages.iter().all(|page| page.has(part.detail))
    }

    /// Takes in a page, unless it follows on nothing cached or was requested before something newer.
    pub(crate) fn learn(&self, asked: Asked, part: Part<'_>, page: &Page) {
        let mut listings = self.lock();
        let Listings { of, bytes } = &mut *listings;
        let is_first = part.from == DirPosition::default();
        match of.get(part.dir) {
            Some(listing) if asked.number < listing.since => return,
            Some(listing) if listing.version == Some(part.version) => {}
            _ if is_first => {
                let new = Listing::new(part.version, asked);
                *bytes -= of.insert(*part.dir, new).map_or(0, |old| old.bytes);
            }
            _ => return,
        }
        let Some(listing) = of.get(part.dir) else { return };
        *bytes -= listing.bytes;
        if is_first {
            *listing = Listing::new(part.version, asked);
        }
        listing.append(KeptPage::new(part, page));
        *bytes += listing.bytes;
        listings.shrink(self.max_dirs, self.max_bytes);
    }

    /// Invalidates the listing of a directory that this client changed, and pages still in flight.
    pub(crate) fn outdate(&self, now: Asked, dir: &Handle) {
        let mut listings = self.lock();
        let old = listings.of.insert(*dir, Listing { version: None, ..Listing::new(DirVersion::default(), now) });
        listings.bytes -= old.map_or(0, |old| old.bytes);
        listings.shrink(self.max_dirs, self.max_bytes);
    }

    fn lock(&self) -> MutexGuard<'_, Listings> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listings {
    fn believed(&mut self, now: Instant, part: Part<'_>, max_age: Duration) -> Option<&mut Listing> {
        let is_believed = |listing: &&mut Listing| {
            listing.version == Some(part.version) && now.saturating_duration_since(listing.begun) <= max_age
        };
        self.of.get(part.dir).filter(is_believed)
    }

    fn shrink(&mut self, max_dirs: usize, max_bytes: usize) {
        while self.of.len() > max_dirs || self.bytes > max_bytes {
            let Some((_, oldest)) = self.of.pop_oldest() else { break };
            self.bytes -= oldest.bytes;
        }
    }
}

impl Listing {
    fn new(version: DirVersion, asked: Asked) -> Listing {
        let (since, begun) = (asked.number, asked.time);
        Listing { version: Some(version), since, begun, pages: Vec::new(), last_look: 0, bytes: 0 }
    }

    fn find(&mut self, from: DirPosition, detail: Detail) -> Option<KeptPart> {
        let (index, skipped) = self.place(from)?;
        self.last_look = index;
        let page = self.pages.get(index).filter(|page| page.has(detail))?;
        Some(KeptPart { page: Arc::clone(page), skipped })
    }

    /// The page that continues from a position, and how many of its entries stand before it.
    fn place(&self, from: DirPosition) -> Option<(usize, usize)> {
        let near = [self.last_look, self.last_look + 1];
        let all = near.into_iter().chain(0..self.pages.len());
        let mut places = all.filter_map(|index| Some((index, self.pages.get(index)?.place(from)?)));
        places.next()
    }

    /// Appends a page at its position, and drops everything cached behind that position.
    fn append(&mut self, page: KeptPage) {
        if let Some((index, skipped)) = self.place(page.from) {
            self.cut(index, skipped);
        }
        let end = self.pages.last().map_or(DirPosition::default(), |last| last.next);
        let is_over = self.pages.last().is_some_and(|last| last.is_last);
        if page.from == end && !is_over {
            self.bytes += page.bytes;
            self.pages.push(Arc::new(page));
        }
    }

    /// Truncates the listing to that many pages and that many entries of the next one.
    fn cut(&mut self, pages: usize, entries: usize) {
        let cut: Vec<_> = self.pages.drain(pages..).collect();
        self.bytes -= cut.iter().map(|page| page.bytes).sum::<usize>();
        if entries > 0
            && let Some(page) = cut.first().map(|page| page.first(entries))
        {
            self.bytes += page.bytes;
            self.pages.push(Arc::new(page));
        }
    }
}

impl KeptPage {
    fn new(part: Part<'_>, page: &Page) -> KeptPage {
        let kept = |entry: &crate::DirEntry| KeptEntry {
            name: entry.name.clone(),
            fileid: entry.fileid,
            cookie: entry.cookie,
            file: entry.entry.map(|file| file.handle),
        };
        let entries: Vec<_> = page.entries.iter().map(kept).collect();
        let bytes = size_of_entries(&entries);
        KeptPage { entries, detail: part.detail, from: part.from, next: page.next, is_last: page.is_last, bytes }
    }

    /// A page of the first `count` entries: at least one, and not all.
    fn first(&self, count: usize) -> KeptPage {
        let entries = self.entries[..count].to_vec();
        let bytes = size_of_entries(&entries);
        let next = entries.last().map_or(self.from, |last| DirPosition { cookie: last.cookie, ..self.next });
        KeptPage { entries, next, is_last: false, bytes, ..*self }
    }

    /// Whether it has the requested detail.
    fn has(&self, detail: Detail) -> bool {
        self.detail == Detail::Entries || detail == Detail::Names
    }

    /// How many of the entries stand before that position, if the page continues from it.
    fn place(&self, from: DirPosition) -> Option<usize> {
        if from == self.from {
            return Some(0);
        }
        if from.verifier != self.next.verifier {
            return None;
        }
        let before = self.entries.iter().position(|entry| entry.cookie == from.cookie)? + 1;
        (before < self.entries.len() || self.is_last).then_some(before)
    }
}

fn size_of_entries(entries: &[KeptEntry]) -> usize {
    let names: usize = entries.iter().map(|entry| entry.name.len()).sum();
    size_of::<KeptPage>() + size_of_val(entries) + names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DirEntry;
    use crate::cache::AttributeCache;
    use vfs::{Attributes, FileKind};

    struct Bench {
        attributes: AttributeCache,
        dirs: DirectoryCache,
    }

    impl Bench {
        fn new(max_entries: usize) -> Bench {
            let caching = Caching { max_entries, ..Caching::default() };
            Bench { attributes: AttributeCache::new(&caching), dirs: DirectoryCache::new(&caching) }
        }

        fn learn(&self, part: Part<'_>, cookies: std::ops::Range<u64>, is_last: bool) {
            let next = at(cookies.end - 1);
            let entry = |cookie: u64| DirEntry::new(cookie.to_string().into_bytes().into(), cookie, cookie, None);
            let page = Page { entries: cookies.map(entry).collect(), next, is_last };
            self.dirs.learn(self.attributes.ask(Instant::now()), part, &page);
        }

        /// The cookies of the entries cached from that position on.
        fn look(&self, part: Part<'_>) -> Option<Vec<u64>> {
            let kept = self.dirs.look(Instant::now(), part)?;
            Some(kept.page.entries[kept.skipped..].iter().map(|entry| entry.cookie).collect())
        }
    }

    fn at(cookie: u64) -> DirPosition {
        DirPosition { cookie, verifier: [u8::from(cookie > 0); 8] }
    }

    fn version(change: u64) -> DirVersion {
        DirVersion::of(&Attributes { change, ..Attributes::new(FileKind::Directory, 1) })
    }

    fn part(dir: &Handle, cookie: u64) -> Part<'_> {
        Part { dir, version: version(1), from: at(cookie), detail: Detail::Names }
    }

    fn handle(number: u8) -> Handle {
        Handle::new(&[number]).unwrap()
    }

    #[test]
    fn pages_that_follow_on_each_other_are_kept_and_may_be_entered_anywhere() {
        let (bench, dir) = (Bench::new(100), handle(1));
        bench.learn(part(&dir, 7), 8..9, false);
        assert_eq!(bench.look(part(&dir, 7)), None, "nobody knows what goes before");
        bench.learn(part(&dir, 0), 1..4, false);
        bench.learn(part(&dir, 3), 4..7, false);
        assert_eq!(bench.look(part(&dir, 0)), Some(vec![1, 2, 3]));
        assert_eq!(bench.look(part(&dir, 3)), Some(vec![4, 5, 6]));
        assert_eq!(bench.look(part(&dir, 5)), Some(vec![6]));
        assert_eq!(bench.look(part(&dir, 6)), None);
        assert!(!bench.dirs.is_whole(Instant::now(), part(&dir, 0)));
        bench.learn(part(&dir, 6), 7..8, true);
        assert!(bench.dirs.is_whole(Instant::now(), part(&dir, 0)));
        assert_eq!(bench.look(part(&dir, 7)), Some(vec![]), "the end is known");
        assert_eq!(bench.look(Part { from: DirPosition { cookie: 3, verifier: [9; 8] }, ..part(&dir, 3) }), None);
    }

    #[test]
    fn listing_is_of_one_version_and_own_changes_end_it() {
        let (bench, dir) = (Bench::new(100), handle(1));
        bench.learn(part(&dir, 0), 1..4, true);
        assert_eq!(bench.look(Part { version: version(2), ..part(&dir, 0) }), None);
        let asked = bench.attributes.ask(Instant::now());
        bench.dirs.outdate(bench.attributes.turn(Instant::now()), &dir);
        assert_eq!(bench.look(part(&dir, 0)), None);
        let page = Page { is_last: true, ..Page::default() };
        bench.dirs.learn(asked, part(&dir, 0), &page);
        assert_eq!(bench.look(part(&dir, 0)), None, "asked for before the change");
        bench.learn(part(&dir, 0), 1..3, true);
        assert_eq!(bench.look(part(&dir, 0)), Some(vec![1, 2]));
    }

    #[test]
    fn names_alone_do_not_answer_who_wants_more() {
        let (bench, dir) = (Bench::new(100), handle(1));
        let more = |cookie| Part { detail: Detail::Entries, ..part(&dir, cookie) };
        bench.learn(part(&dir, 0), 1..4, false);
        bench.learn(part(&dir, 3), 4..6, true);
        assert_eq!(bench.look(more(0)), None);
        bench.learn(more(2), 3..5, false);
        assert_eq!((bench.look(part(&dir, 0)), bench.look(more(2))), (Some(vec![1, 2]), Some(vec![3, 4])));
        assert_eq!(bench.look(part(&dir, 4)), None, "what stood behind is not known to follow on it");
        assert!(!bench.dirs.is_whole(Instant::now(), more(0)));
    }

    #[test]
    fn bytes_are_bounded_and_a_directory_over_the_bound_is_not_kept() {
        let bench = Bench::new(10);
        for number in 0..100 {
            bench.learn(part(&handle(number), 0), 1..6, true);
        }
        let known = (0..100).filter(|number| bench.look(part(&handle(*number), 0)).is_some()).count();
        assert!((1..=10).contains(&known), "{known}");
        let large = handle(200);
        for page in 0..100 {
            bench.learn(part(&large, page * 5), page * 5 + 1..page * 5 + 6, false);
            assert!(bench.dirs.lock().bytes <= 10 * BYTES_PER_ENTRY);
        }
        assert_eq!(bench.look(part(&large, 0)), None);
        let listings = bench.dirs.lock();
        assert_eq!(listings.bytes, 0, "what is not kept takes nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn listing_is_not_believed_for_ever() {
        let (bench, dir) = (Bench::new(100), handle(1));
        bench.learn(part(&dir, 0), 1..4, true);
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(bench.look(part(&dir, 0)), None);
    }
}
