//! From a number of the store to its file: by the path that was written down, and where that leads to something else,
//! by searching for what somebody on the host has moved.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{OFlags, RawDir};
use vfs::{Context, Error, Handle, Result};

use crate::attributes::stat_fd;
use crate::failure::failed;
use crate::handles::{FileAt, StoredHandles};
use crate::host::HostFs;
use crate::lookup::open_path;
use crate::node::reopen;
use crate::store::{Fingerprint, ROOT_ID, StoredFile};

/// The deepest path that is followed.
const MAX_DEPTH: usize = 512;

/// How much of a directory is taken from the kernel at once, in bytes.
const BATCH_BYTES: usize = 16 * 1024;

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
        match self.open_in_place(cx, stored, &record, depth)? {
            Some(fd) => Ok(fd),
            None => self.search(cx, stored, &record),
        }
    }

    /// Opens a file if it is still where it was.
    pub(crate) fn open_in_place(
        &self,
        cx: &Context<'_>,
        stored: &StoredHandles,
        record: &StoredFile,
        depth: usize,
    ) -> Result<Option<OwnedFd>> {
        let parent = match self.node_at(cx, &StoredHandles::handle_of(record.parent), depth + 1) {
            Ok(parent) => parent,
            Err(Error::Stale) => return Ok(None),
            Err(error) => return Err(error),
        };
        let name = CString::new(record.name.as_slice()).map_err(|_| Error::Stale)?;
        self.open_if_same(stored, parent.fd(), &name, &record.fingerprint)
    }

    /// The handle of a directory whose path nobody has written down: those above it get theirs first.
    pub(crate) fn adopt(&self, stored: &StoredHandles, dir: BorrowedFd<'_>, depth: usize) -> Result<Handle> {
        let stat = stat_fd(dir)?;
        if self.volume.is_root(&stat) {
            return Ok(StoredHandles::handle_of(ROOT_ID));
        }
        let fingerprint = stored.fingerprint(FileAt::of_fd(&dir, &stat))?;
        if let Some(known) = stored.store.known(&fingerprint).map_err(Error::Io)? {
            return Ok(StoredHandles::handle_of(known.id));
        }
        if depth > MAX_DEPTH || !self.volume.holds(&stat) {
            return Err(Error::Stale);
        }
        let above = open_path(dir, c"..")?;
        let parent = StoredHandles::id_of(&self.adopt(stored, above.as_fd(), depth + 1)?)?;
        let name = self.name_in(stored, above.as_fd(), &fingerprint)?.ok_or(Error::Stale)?;
        let seen = StoredFile { id: 0, parent, name: name.into_bytes(), fingerprint };
        stored.store.id(seen, true).map(StoredHandles::handle_of).map_err(Error::Io)
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
        if let Some(origin) = self.volume.borders.at(&stat).filter(|origin| wanted.may_have(origin.fileid)) {
            // It is found, and is another export's: no search leads to a better place.
            return Err(Error::Elsewhere(Box::new(origin)));
        }
        let is_same = self.volume.holds(&stat)
            && wanted.may_have(stat.stx_ino)
            && stored.fingerprint(FileAt::of_fd(&fd, &stat))? == *wanted;
        Ok(is_same.then_some(fd))
    }

    /// The name that a file has in a directory.
    fn name_in(&self, stored: &StoredHandles, dir: BorrowedFd<'_>, wanted: &Fingerprint) -> Result<Option<CString>> {
        let listing = reopen(dir, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut buffer = [const { MaybeUninit::uninit() }; BATCH_BYTES];
        let mut entries = RawDir::new(&listing, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(failed)?;
            if wanted.may_have(entry.ino()) && self.open_if_same(stored, dir, entry.file_name(), wanted)?.is_some() {
                return Ok(Some(entry.file_name().to_owned()));
            }
        }
        Ok(None)
    }
}
