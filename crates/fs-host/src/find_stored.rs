//! From a number of the store to its file: by the path that was written down, and where that leads to something else, by
//! searching for what somebody on the host has moved.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, OFlags, RawDir};
use vfs::{Context, Error, Handle, Result};

use crate::attributes::stat_fd;
use crate::failure::failed;
use crate::handles::{StoredHandles, Subject};
use crate::host::HostFs;
use crate::lookup::open_path;
use crate::node::reopen;
use crate::store::{Fingerprint, ROOT_ID, Record};

/// The deepest path that is followed.
const MAX_DEPTH: usize = 512;

/// How many entries of the tree one search looks at.
const MAX_SEARCHED_ENTRIES: usize = 200_000;

/// How long a file that a search gave up on is not searched for again.
const SEARCH_AGAIN_AFTER: Duration = Duration::from_secs(60);

/// How many such files are remembered.
const MAX_LOST: usize = 4096;

/// How much of a directory is taken from the kernel at once, in bytes.
const BATCH_BYTES: usize = 16 * 1024;

/// How long a look at the whole tree speaks for files that were not in it. When somebody on the host removes many files,
/// the first one that is asked for is searched and the others are known to be gone.
const SNAPSHOT_HOLDS: Duration = Duration::from_secs(5);

/// What searches came to that found nothing.
#[derive(Debug, Default)]
pub(crate) struct Lost(Mutex<Vain>);

#[derive(Debug, Default)]
struct Vain {
    /// Files that a search gave up on, and when.
    given_up: HashMap<u64, Instant>,
    /// What the last whole look at the tree saw.
    seen: Option<Snapshot>,
}

/// What a look at the whole tree saw.
#[derive(Debug)]
struct Snapshot {
    taken: Instant,
    /// It says nothing of files that were numbered from here on.
    below_id: u64,
    fileids: HashSet<u64>,
}

/// How far a search came.
enum Search {
    /// It found the file in the last of these directories, counted from the export's root, under the last of these names.
    Found(Vec<CString>),
    /// It looked at everything.
    Nowhere,
    /// There is too much to look at.
    GaveUp,
}

impl HostFs {
    /// Opens the file of a number.
    pub(crate) fn open_stored(
        &self,
        cx: &Context<'_>,
        stored: &StoredHandles,
        id: u64,
        depth: usize,
    ) -> Result<OwnedFd> {
        let record = stored.store.record(id).map_err(Error::Io)?.ok_or(Error::Stale)?;
        if depth > MAX_DEPTH {
            return Err(Error::Stale);
        }
        let parent = match self.node_at(cx, &StoredHandles::handle_of(record.parent), depth + 1) {
            Ok(parent) => Some(parent),
            Err(Error::Stale) => None,
            Err(error) => return Err(error),
        };
        if let Some(parent) = &parent {
            let name = CString::new(record.name.as_slice()).map_err(|_| Error::Stale)?;
            if let Some(fd) = self.open_if_same(stored, parent.fd(), &name, &record.fingerprint)? {
                return Ok(fd);
            }
            if !cx.may_block {
                return Err(Error::WouldBlock);
            }
            if let Some(found) = self.search_dir(stored, parent.fd(), &record.fingerprint)? {
                stored.store.put(Record { name: found.name.into_bytes(), ..record }).map_err(Error::Io)?;
                self.keep_handles()?;
                return Ok(found.fd);
            }
        }
        self.search_tree(cx, stored, &record)
    }

    /// The handle of a directory whose path nobody has written down: those above it get theirs first.
    pub(crate) fn adopt(&self, stored: &StoredHandles, dir: BorrowedFd<'_>, depth: usize) -> Result<Handle> {
        let stat = stat_fd(dir)?;
        if self.volume.is_root(&stat) {
            return Ok(StoredHandles::handle_of(ROOT_ID));
        }
        let fingerprint = stored.fingerprint(Subject::of_fd(&dir, &stat))?;
        if let Some(id) = stored.store.known_id(&fingerprint).map_err(Error::Io)? {
            return Ok(StoredHandles::handle_of(id));
        }
        if depth > MAX_DEPTH || !self.volume.holds(&stat) {
            return Err(Error::Stale);
        }
        let above = open_path(dir, c"..")?;
        let parent = StoredHandles::id_of(&self.adopt(stored, above.as_fd(), depth + 1)?)?;
        let found = self.search_dir(stored, above.as_fd(), &fingerprint)?.ok_or(Error::Stale)?;
        let seen = Record { id: 0, parent, name: found.name.into_bytes(), fingerprint };
        stored.store.id(&seen, true).map(StoredHandles::handle_of).map_err(Error::Io)
    }

    /// Opens a name, if it is still the file that is looked for.
    fn open_if_same(
        &self,
        stored: &StoredHandles,
        dir: BorrowedFd<'_>,
        name: &CStr,
        wanted: &Fingerprint,
    ) -> Result<Option<OwnedFd>> {
        let fd = match open_path(dir, name) {
            Ok(fd) => fd,
            Err(Error::NoEntry | Error::NotDirectory | Error::Stale) => return Ok(None),
            Err(error) => return Err(error),
        };
        let stat = stat_fd(fd.as_fd())?;
        if let Some(origin) = self.volume.borders.at(&stat).filter(|origin| origin.fileid == wanted.fileid) {
            // It is found, and is another export's: no search leads to a better place.
            return Err(Error::Elsewhere(origin));
        }
        let is_same = self.volume.holds(&stat)
            && stat.stx_ino == wanted.fileid
            && stored.fingerprint(Subject::of_fd(&fd, &stat))? == *wanted;
        Ok(is_same.then_some(fd))
    }

    /// Looks for a file among the entries of one directory.
    fn search_dir(&self, stored: &StoredHandles, dir: BorrowedFd<'_>, wanted: &Fingerprint) -> Result<Option<Found>> {
        for entry in entries(dir)? {
            if entry.fileid == wanted.fileid
                && let Some(fd) = self.open_if_same(stored, dir, &entry.name, wanted)?
            {
                return Ok(Some(Found { fd, name: entry.name }));
            }
        }
        Ok(None)
    }

    /// Looks for a file everywhere.
    fn search_tree(&self, cx: &Context<'_>, stored: &StoredHandles, record: &Record) -> Result<OwnedFd> {
        if self.lost.has(record) {
            return Err(Error::Stale);
        }
        if !cx.may_block {
            return Err(Error::WouldBlock);
        }
        match self.search_below(stored, &record.fingerprint)? {
            Search::Found(path) => self.take_found(stored, record, &path),
            Search::Nowhere => {
                stored.store.forget(record.id).map_err(Error::Io)?;
                Err(Error::Stale)
            }
            Search::GaveUp => {
                self.lost.remember(record.id);
                Err(Error::Stale)
            }
        }
    }

    /// Writes down where the file is now, and opens it there.
    fn take_found(&self, stored: &StoredHandles, record: &Record, path: &[CString]) -> Result<OwnedFd> {
        let (name, above) = path.split_last().ok_or(Error::Stale)?;
        let dir = self.walk(above)?;
        let fd = self.open_if_same(stored, dir.as_fd(), name, &record.fingerprint)?.ok_or(Error::Stale)?;
        let parent = StoredHandles::id_of(&self.adopt(stored, dir.as_fd(), 0)?)?;
        stored.store.put(Record { parent, name: name.as_bytes().to_vec(), ..record.clone() }).map_err(Error::Io)?;
        self.keep_handles()?;
        Ok(fd)
    }

    fn search_below(&self, stored: &StoredHandles, wanted: &Fingerprint) -> Result<Search> {
        let mut waiting = VecDeque::from([Vec::new()]);
        let below_id = stored.store.next_id();
        let mut seen = Snapshot { taken: Instant::now(), below_id, fileids: HashSet::new() };
        let mut looked_at = 0;
        while let Some(path) = waiting.pop_front() {
            // A directory that has gone meanwhile has nothing in it.
            let Ok(dir) = self.walk(&path) else { continue };
            for entry in entries(dir.as_fd())? {
                looked_at += 1;
                seen.fileids.insert(entry.fileid);
                if looked_at > MAX_SEARCHED_ENTRIES {
                    return Ok(Search::GaveUp);
                }
                let is_candidate = entry.fileid == wanted.fileid;
                let is_found = is_candidate && self.open_if_same(stored, dir.as_fd(), &entry.name, wanted)?.is_some();
                let below = || path.iter().cloned().chain([entry.name.clone()]).collect();
                if is_found {
                    return Ok(Search::Found(below()));
                }
                if entry.may_be_directory && path.len() < MAX_DEPTH {
                    waiting.push_back(below());
                }
            }
        }
        self.lost.lock().seen = Some(seen);
        Ok(Search::Nowhere)
    }

    /// Opens a directory by its path from the export's root, without following a link or entering another mount.
    fn walk(&self, path: &[CString]) -> Result<OwnedFd> {
        let mut dir = self.open_root()?;
        for name in path {
            dir = open_path(dir.as_fd(), name)?;
            self.volume.check(&stat_fd(dir.as_fd())?)?;
        }
        Ok(dir)
    }
}

impl Lost {
    fn has(&self, record: &Record) -> bool {
        let vain = self.lock();
        let is_given_up = vain.given_up.get(&record.id).is_some_and(|since| since.elapsed() < SEARCH_AGAIN_AFTER);
        is_given_up || vain.seen.as_ref().is_some_and(|seen| seen.excludes(record))
    }

    fn remember(&self, id: u64) {
        let mut vain = self.lock();
        if vain.given_up.len() >= MAX_LOST {
            vain.given_up.clear();
        }
        vain.given_up.insert(id, Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, Vain> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot {
    fn excludes(&self, record: &Record) -> bool {
        let covers = record.id < self.below_id && self.taken.elapsed() < SNAPSHOT_HOLDS;
        covers && !self.fileids.contains(&record.fingerprint.fileid)
    }
}

/// A file that a search found in a directory.
struct Found {
    fd: OwnedFd,
    name: CString,
}

/// One entry of a directory that is searched.
struct Seen {
    name: CString,
    fileid: u64,
    may_be_directory: bool,
}

/// What a directory holds, `.` and `..` left out, up to the limit of one search; nothing when it is none.
fn entries(dir: BorrowedFd<'_>) -> Result<Vec<Seen>> {
    let opened = match reopen(dir, OFlags::RDONLY | OFlags::DIRECTORY) {
        Ok(opened) => opened,
        Err(Error::NotDirectory | Error::AccessDenied) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut buffer = [const { MaybeUninit::uninit() }; BATCH_BYTES];
    let mut listing = RawDir::new(&opened, &mut buffer);
    let mut seen = Vec::new();
    while seen.len() < MAX_SEARCHED_ENTRIES
        && let Some(entry) = listing.next()
    {
        let entry = entry.map_err(failed)?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            let may_be_directory = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            seen.push(Seen { name: entry.file_name().to_owned(), fileid: entry.ino(), may_be_directory });
        }
    }
    Ok(seen)
}
