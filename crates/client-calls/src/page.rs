//! Pages of directories from replies, protected from faulty servers.

use vfs::{Name, NameError};

use crate::types::{DirPosition, Page};
use crate::{DirEntry, Entry, Lie, Reason};

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
    pub(crate) fn push(&mut self, raw: RawEntry<'_>) -> Result<(), Reason> {
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

    /// Ends the page. Refuses one that makes no progress and is not the last: it would be requested for ever. Refuses a
    /// cookie of two entries, too: a caller that continues behind the second one would get everything behind the first.
    pub(crate) fn finish(mut self, is_last: bool) -> Result<Page, Reason> {
        self.page.is_last = is_last;
        let stands_still = self.count == 0 || self.page.next.cookie == self.from.cookie;
        if (stands_still && !is_last) || self.repeats_cookie() {
            return Err(Reason::Lie(Lie::CookieLoop));
        }
        Ok(self.page)
    }

    /// Whether two entries have one cookie. Most servers list in the order of cookies.
    fn repeats_cookie(&self) -> bool {
        let mut cookies: Vec<u64> = self.page.entries.iter().map(|entry| entry.cookie).collect();
        if !cookies.is_sorted() {
            cookies.sort_unstable();
        }
        cookies.windows(2).any(|pair| pair[0] == pair[1])
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
    fn cookie_of_two_entries_is_refused_in_any_order() {
        for (cookies, is_fine) in [(vec![1, 3, 2], true), (vec![1, 1, 2], false), (vec![7, 3, 7, 9], false)] {
            let mut page = PageBuilder::new(DirPosition::default(), [0; 8]);
            cookies.iter().for_each(|cookie| page.push(raw(b"name", *cookie)).unwrap());
            assert_eq!(page.finish(true).is_ok(), is_fine, "{cookies:?}");
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
}
