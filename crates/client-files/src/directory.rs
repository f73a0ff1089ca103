//! Listings of directories, page by page, protected from faulty servers.

use std::collections::VecDeque;

use vfs::{Name, NameError};

use crate::types::{DirPosition, Page};
use crate::{Detail, DirEntry, Entry, Handle, Lie, Mount, Reason, Result};

/// An entry as received in a reply.
pub(crate) struct RawEntry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) fileid: u64,
    pub(crate) cookie: u64,
    pub(crate) entry: Option<Entry>,
}

/// Makes a page from a reply's entries.
pub(crate) struct PageBuilder {
    page: Page,
    from: DirPosition,
    count: usize,
}

impl PageBuilder {
    pub(crate) fn new(from: DirPosition, verifier: [u8; 8]) -> PageBuilder {
        let next = DirPosition { cookie: from.cookie, verifier };
        PageBuilder { page: Page { next, ..Page::default() }, from, count: 0 }
    }

    /// Adds an entry. Refuses a name that could lead elsewhere, because callers make paths of names.
    pub(crate) fn push(&mut self, raw: RawEntry<'_>) -> std::result::Result<(), Reason> {
        self.count += 1;
        self.page.next.cookie = raw.cookie;
        match Name::new(raw.name) {
            Ok(name) => {
                let name = name.as_bytes().into();
                let RawEntry { fileid, cookie, entry, .. } = raw;
                self.page.entries.push(DirEntry { name, fileid, cookie, entry });
                Ok(())
            }
            Err(NameError::Dots) => Ok(()),
            Err(error) => Err(Reason::Lie(Lie::BadName(error))),
        }
    }

    /// Ends the page. Refuses one that makes no progress and is not the last: it would be requested for ever.
    pub(crate) fn finish(mut self, is_last: bool) -> std::result::Result<Page, Reason> {
        self.page.is_last = is_last;
        let stands_still = self.count == 0 || self.page.next.cookie == self.from.cookie;
        if stands_still && !is_last {
            return Err(Reason::Lie(Lie::CookieLoop));
        }
        Ok(self.page)
    }
}

/// Detects repeated cookies in constant memory: it keeps one cookie, and replaces it after twice as many pages (Brent's
/// cycle detection).
#[derive(Debug, Default)]
struct LoopDetector {
    kept: Option<u64>,
    pages: u64,
    next_keep: u64,
}

impl LoopDetector {
    fn is_loop(&mut self, cookie: u64) -> bool {
        if self.kept == Some(cookie) {
            return true;
        }
        if self.pages >= self.next_keep {
            self.kept = Some(cookie);
            self.next_keep = self.pages * 2 + 1;
        }
        self.pages += 1;
        false
    }
}

/// Makes sure that a listing ends.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    detector: LoopDetector,
    entries: u64,
}

impl Progress {
    /// Checks one more page. A loop, or more entries than the limit, is an error.
    pub(crate) fn check(&mut self, page: &Page, max_entries: u64) -> std::result::Result<(), Reason> {
        self.entries += page.entries.len() as u64;
        if self.entries > max_entries {
            return Err(Reason::Lie(Lie::TooManyEntries(max_entries)));
        }
        if !page.is_last && self.detector.is_loop(page.next.cookie) {
            return Err(Reason::Lie(Lie::CookieLoop));
        }
        Ok(())
    }
}

/// The entries of a directory, in the server's order.
///
/// ```no_run
/// # async fn example(mount: client::Mount) -> client::Result<()> {
/// let mut listing = mount.read_dir(&mount.root().handle, client::Detail::Names);
/// while let Some(entry) = listing.next().await? {
///     println!("{}", entry.name.escape_ascii());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is listed until somebody asks for an entry"]
pub struct Listing<'m> {
    mount: &'m Mount,
    dir: Handle,
    detail: Detail,
    position: DirPosition,
    is_over: bool,
    progress: Progress,
    ready: VecDeque<DirEntry>,
}

impl<'m> Listing<'m> {
    pub(crate) fn new(mount: &'m Mount, dir: &Handle, detail: Detail) -> Listing<'m> {
        Listing {
            mount,
            dir: *dir,
            detail,
            position: DirPosition::default(),
            is_over: false,
            progress: Progress::default(),
            ready: VecDeque::new(),
        }
    }

    /// The next entry, or `None` at the end.
    ///
    /// # Errors
    /// The error of the server; [`Reason::Lie`] if the listing is inconsistent or has no end.
    pub async fn next(&mut self) -> Result<Option<DirEntry>> {
        while self.ready.is_empty() {
            match self.next_page().await? {
                Some(page) => self.ready.extend(page),
                None => return Ok(None),
            }
        }
        Ok(self.ready.pop_front())
    }

    /// The entries of the next reply, possibly none, or `None` at the end.
    ///
    /// # Errors
    /// As for [`Listing::next`].
    pub async fn next_page(&mut self) -> Result<Option<Vec<DirEntry>>> {
        if !self.ready.is_empty() {
            return Ok(Some(self.ready.drain(..).collect()));
        }
        if self.is_over {
            return Ok(None);
        }
        let mut page = self.mount.ask_page(&self.dir, self.position, self.detail).await?;
        let checked = self.progress.check(&page, self.mount.max_dir_entries());
        checked.map_err(|reason| self.mount.error("READDIR", reason))?;
        (self.position, self.is_over) = (page.next, page.is_last);
        if self.detail == Detail::Entries {
            self.mount.complete(&self.dir, &mut page.entries).await?;
        }
        Ok(Some(page.entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(name: &[u8], cookie: u64) -> RawEntry<'_> {
        RawEntry { name, fileid: 1, cookie, entry: None }
    }

    #[test]
    fn dots_are_left_out_and_still_move_the_listing_on() {
        let mut page = PageBuilder::new(DirPosition::default(), [1; 8]);
        page.push(raw(b".", 1)).unwrap();
        page.push(raw(b"..", 2)).unwrap();
        let page = page.finish(false).unwrap();
        assert_eq!((page.entries.len(), page.next), (0, DirPosition { cookie: 2, verifier: [1; 8] }));
    }

    #[test]
    fn name_that_leads_elsewhere_is_refused() {
        for name in [&b"../../etc/passwd"[..], b"a/b", b"", b"nul\0"] {
            let mut page = PageBuilder::new(DirPosition::default(), [0; 8]);
            assert!(matches!(page.push(raw(name, 1)), Err(Reason::Lie(Lie::BadName(_)))), "{}", name.escape_ascii());
        }
    }

    #[test]
    fn page_that_leads_nowhere_is_refused_unless_it_is_the_last() {
        let from = DirPosition { cookie: 5, verifier: [0; 8] };
        assert!(PageBuilder::new(from, [0; 8]).finish(false).is_err());
        assert!(PageBuilder::new(from, [0; 8]).finish(true).is_ok());
        let mut page = PageBuilder::new(from, [0; 8]);
        page.push(raw(b"again", 5)).unwrap();
        assert!(page.finish(false).is_err());
    }

    #[test]
    fn loop_of_any_length_is_found_and_a_straight_listing_is_none() {
        for length in [1, 2, 3, 17, 1000] {
            let mut detector = LoopDetector::default();
            assert!((0..10 * length + 10).any(|page| detector.is_loop(page % length)), "a loop of {length} pages");
        }
        let mut detector = LoopDetector::default();
        assert!(!(0..100_000).any(|page| detector.is_loop(page * 3)));
    }
}
