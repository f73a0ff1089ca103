//! Changes of the tree that are on stable storage before they are acknowledged (RFC 1813 §4.8).

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use vfs::{Context, Error, Handle, Result};

use crate::attributes::MAX_SPACE_ON_LOOP_BYTES;
use crate::failure::failed;
use crate::flush::Flush;
use crate::host::HostFs;
use crate::node::HostNode;
use crate::storage_rules::NewNames;

/// Refuses to take or to free so many bytes on a thread that may not wait, before anything is done.
pub(crate) fn check_space(cx: &Context<'_>, bytes: u64) -> Result<()> {
    if !cx.may_block && bytes > MAX_SPACE_ON_LOOP_BYTES { Err(Error::WouldBlock) } else { Ok(()) }
}

impl HostFs {
    /// Whether a change has to be brought to storage before the call returns.
    pub(crate) fn syncs(&self) -> bool {
        self.options.sync_metadata && !self.volume.is_memory
    }

    /// Refuses a change that would have to wait for storage on a thread that may not wait, before anything is done.
    pub(crate) fn check_may_change(&self, cx: &Context<'_>) -> Result<()> {
        if self.syncs() && !cx.may_block { Err(Error::WouldBlock) } else { Ok(()) }
    }

    /// The directory in which something is about to change, opened for syncing while the thread may still do that.
    pub(crate) fn dir_to_change(&self, cx: &Context<'_>, handle: &Handle) -> Result<Arc<HostNode>> {
        self.check_may_change(cx)?;
        let dir = self.dir_node(cx, handle)?;
        if self.syncs() {
            self.identity.own()?;
            match self.with_room(cx, || dir.listing().map(drop)) {
                // A directory that may be written and not read: see `settle_dir`.
                Ok(()) | Err(Error::AccessDenied) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(dir)
    }

    /// Brings a new file or directory to storage, and its name in `dir`. It `is_untouched` while nothing was set since
    /// it was made.
    pub(crate) fn settle_new(&self, file: BorrowedFd<'_>, dir: &HostNode, is_untouched: bool) -> Result<()> {
        let file = Flush::all(file);
        match self.volume.rules.new_names {
            NewNames::Either if is_untouched && dir.listing().is_ok() => self.settle_dir(dir),
            NewNames::Either | NewNames::File => self.flush(&[file]),
            NewNames::Both | NewNames::Each => self.settle_with_dir(file, dir),
        }
    }

    /// Brings the names of a directory to storage; one that cannot be opened, with everything else of the file system.
    pub(crate) fn settle_dir(&self, dir: &HostNode) -> Result<()> {
        if !self.syncs() {
            return Ok(());
        }
        match dir.listing() {
            Ok(fd) => self.flush(&[Flush::all(fd)]),
            Err(_) => self.settle_beyond_files(),
        }
    }

    /// Brings the names of two directories to storage. Those of `first` go first: where a name moves in two steps, that
    /// is where it is now, so that there are two names and not none after a crash between the two.
    pub(crate) fn settle_dirs(&self, first: &HostNode, second: &HostNode) -> Result<()> {
        if !self.syncs() {
            return Ok(());
        }
        match first.listing() {
            Ok(fd) => self.settle_with_dir(Flush::all(fd), second),
            Err(_) => self.settle_beyond_files(),
        }
    }

    /// Brings a file and the names of its directory to storage.
    pub(crate) fn settle_with_dir(&self, file: Flush<'_>, dir: &HostNode) -> Result<()> {
        match dir.listing() {
            Ok(fd) => self.flush(&[file, Flush::all(fd)]),
            Err(_) => self.flush(&[file]).and_then(|()| self.settle_dir(dir)),
        }
    }

    /// Brings what cannot be opened to storage, with everything else of the file system.
    pub(crate) fn settle_beyond_files(&self) -> Result<()> {
        if !self.syncs() {
            return Ok(());
        }
        self.flushes.watched_whole(|| self.volume.sync())
    }

    /// Flushes these files together with those of other callers.
    pub(crate) fn flush(&self, files: &[Flush<'_>]) -> Result<()> {
        if self.syncs() { self.flushes.flush(files).map_err(failed) } else { Ok(()) }
    }

    /// Brings everything to storage: the export's file system, and what leads from handles to its files.
    pub(crate) fn settle_all(&self, cx: &Context<'_>) -> Result<()> {
        if self.volume.is_memory {
            return Ok(());
        }
        if !cx.may_block {
            return Err(Error::WouldBlock);
        }
        self.sync_handles()?;
        self.volume.check_reports_failures()?;
        self.flushes.watched_whole(|| self.volume.sync())
    }

    /// Brings a file and its attributes to storage.
    pub(crate) fn settle(&self, file: impl AsFd) -> Result<()> {
        self.flush(&[Flush::all(file.as_fd())])
    }
}
