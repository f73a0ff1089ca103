use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::vec;

use client_calls::DirPosition;
use futures_util::stream::{Stream, try_unfold};

use super::Dir;
use crate::listing::Progress;
use crate::{Detail, DirEntry, Error, Result, Status};

/// The most names that a listing remembers in case it must restart, 8 bytes each.
const MAX_GIVEN: usize = 1 << 20;

/// The names in a directory, in the server's order, from the cache where possible.
///
/// Names that are made or removed meanwhile may be missing or not. If the server rejects the position, as it may after
/// a change (RFC 1813 §3.3.16, NFS3ERR_BAD_COOKIE), the listing restarts once and leaves out the names it already
/// returned.
#[derive(Debug)]
#[must_use = "nothing is listed until somebody asks for an entry"]
pub struct Entries {
    dir: Dir,
    detail: Detail,
    position: DirPosition,
    is_over: bool,
    progress: Progress,
    ready: vec::IntoIter<DirEntry>,
    given: Given,
}

impl Dir {
    /// The names in this directory, in the server's order. [`Detail::Entries`] adds handles and attributes, and saves a
    /// call for each entry.
    pub fn read_dir(&self, detail: Detail) -> Entries {
        Entries::new(self.clone(), detail)
    }
}

impl Entries {
    pub(super) fn new(dir: Dir, detail: Detail) -> Entries {
        Entries {
            dir,
            detail,
            position: DirPosition::default(),
            is_over: false,
            progress: Progress::default(),
            ready: Vec::new().into_iter(),
            given: Given::default(),
        }
    }

    /// The entries as a stream, which ends with the first error.
    ///
    /// ```
    /// # async fn example(dir: client::Dir) -> client::Result<()> {
    /// use futures_util::TryStreamExt;
    ///
    /// let entries = dir.read_dir(client::Detail::Names).into_stream();
    /// let count = entries.try_fold(0u64, async |count, _| Ok(count + 1)).await?;
    /// println!("{count} names");
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_stream(self) -> impl Stream<Item = Result<DirEntry>> + Send + use<> {
        try_unfold(self, |mut entries| async move { Ok(entries.next().await?.map(|entry| (entry, entries))) })
    }

    /// The next entry, or `None` at the end. `.` and `..` are never among them.
    ///
    /// # Errors
    /// The error of the server; [`Reason::Lie`](crate::Reason::Lie) if the listing is inconsistent or has no end.
    pub async fn next(&mut self) -> Result<Option<DirEntry>> {
        loop {
            let given = &mut self.given;
            match self.ready.find(|entry| given.is_new(&entry.name)) {
                Some(entry) => return Ok(Some(entry)),
                None if self.is_over => return Ok(None),
                None => self.load().await?,
            }
        }
    }

    async fn load(&mut self) -> Result<()> {
        let mount = &self.dir.mount;
        match mount.page(&self.dir.handle, self.position, self.detail).await {
            Ok(page) => {
                let checked = self.progress.check(&page, mount.max_dir_entries());
                checked.map_err(|reason| mount.error("READDIR", reason))?;
                (self.position, self.is_over) = (page.next, page.is_last);
                self.ready = page.entries.into_iter();
                Ok(())
            }
            Err(error) if is_lost(&error) && self.position != DirPosition::default() && self.given.begin_again() => {
                mount.outdate_dir(&self.dir.handle);
                (self.position, self.progress) = (DirPosition::default(), Progress::default());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether the server no longer knows the position in the listing. NFSv4 may reject the verifier instead.
fn is_lost(error: &Error) -> bool {
    matches!(error.status(), Some(Status::BadCookie | Status::NotSync))
}

/// Hashes of the names that a listing has returned.
#[derive(Debug, Default)]
struct Given {
    hasher: RandomState,
    hashes: HashSet<u64>,
    is_too_many: bool,
    has_begun_again: bool,
}

impl Given {
    /// Whether to return a name. Only a restarted listing has returned some before.
    fn is_new(&mut self, name: &[u8]) -> bool {
        if self.is_too_many {
            return true;
        }
        let is_new = self.hashes.insert(self.hasher.hash_one(name));
        if self.hashes.len() > MAX_GIVEN && !self.has_begun_again {
            (self.is_too_many, self.hashes) = (true, HashSet::new());
        }
        is_new || !self.has_begun_again
    }

    /// Whether the listing can restart; marks it as restarted.
    fn begin_again(&mut self) -> bool {
        let can = !self.is_too_many && !self.has_begun_again;
        self.has_begun_again = true;
        can
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_given_once_by_a_listing_that_begins_again() {
        let mut given = Given::default();
        assert!(given.is_new(b"a") && given.is_new(b"b"));
        assert!(given.is_new(b"a"), "the server's own repetition is passed on");
        assert!(given.begin_again());
        assert!(!given.is_new(b"a") && given.is_new(b"c") && !given.is_new(b"b"));
        assert!(!given.begin_again(), "once only");
    }

    #[test]
    fn listing_that_gave_too_much_to_remember_cannot_begin_again() {
        let mut given = Given::default();
        assert!((0..=MAX_GIVEN).all(|number| given.is_new(&number.to_be_bytes())));
        assert_eq!(given.hashes.capacity(), 0);
        assert!(!given.begin_again());
    }
}
