//! Listings of directories, page by page. A server that lists without end fails.

use std::collections::VecDeque;

use crate::{Detail, DirEntry, DirPosition, Entry, Handle, Lie, Mount, Page, Reason, Result, Status};

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

    /// The file of an entry, which is looked up if the server did not tell it. `None` if it is gone meanwhile.
    ///
    /// # Errors
    /// The error of the server: the file may not be looked up.
    pub async fn find(&self, entry: &DirEntry) -> Result<Option<Entry>> {
        if entry.entry.is_some() {
            return Ok(entry.entry);
        }
        match self.mount.lookup(&self.dir, &entry.name).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.status(), Some(Status::NoEntry | Status::Stale)) => Ok(None),
            Err(error) => Err(error),
        }
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
