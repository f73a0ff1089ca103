//! An open file of a remote file system.

use std::io;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use client_files::{File, Mount, Principal};
use vfs::{
    Attributes, Context, CopyRange, Error, FileLock, LockOutcome, LockOwner, OpenFile, OpenMode, ReadBytes, Result,
    Seek, SetAttributes, Stability, Written,
};

use super::handles::{Known, Number};
use super::late::LateError;
use super::opens::Hidden;
use super::shared::Shared;
use super::{copies, locks};

/// An open file. Dropping it commits and closes it, and waits for the server.
#[derive(Debug)]
pub(super) struct RemoteFile {
    shared: Arc<Shared>,
    number: Number,
    mode: OpenMode,
    /// The user who opened it.
    user: Arc<Principal>,
    /// Some until it is dropped.
    file: Option<File>,
    late: LateError,
}

impl RemoteFile {
    /// Takes over an opened file; its number stays known as long as this lives.
    pub(super) fn new(shared: &Arc<Shared>, known: Known, (mode, file): (OpenMode, File)) -> Arc<RemoteFile> {
        shared.handles.pin(&known);
        shared.opens.begin(known.number);
        let user = Arc::clone(file.mount().principal());
        let number = known.number;
        Arc::new(RemoteFile {
            shared: Arc::clone(shared),
            number,
            mode,
            user,
            file: Some(file),
            late: LateError::default(),
        })
    }

    pub(super) fn number(&self) -> Number {
        self.number
    }

    pub(super) fn mode(&self) -> OpenMode {
        self.mode
    }

    pub(super) fn user(&self) -> &Arc<Principal> {
        &self.user
    }

    /// Sets attributes by the open file's right to write. Sends earlier writes first: they would change the file's
    /// times afterwards.
    pub(super) fn set_attributes(&self, cx: &Context<'_>, set: &SetAttributes) -> Result<Attributes> {
        let file = self.file()?;
        self.send_changes(cx)?;
        let mut rest = *set;
        if let Some(size_bytes) = rest.size_bytes.take() {
            self.shared.wait(cx, file.set_len(size_bytes))?;
        }
        let attributes = match rest.is_empty() {
            true => self.shared.wait(cx, file.mount().attributes(file.handle())),
            false => self.shared.wait(cx, file.setattr(&rest)),
        };
        self.shared.visible(self.number, attributes)
    }

    /// Sends changes to the server, so that its length and times are current. An error is kept for the next write or
    /// sync.
    pub(super) fn send_changes(&self, cx: &Context<'_>) -> Result<()> {
        if self.mode == OpenMode::Write {
            let sent = self.shared.wait_for(cx, self.file()?.flush())?;
            self.late.keep(sent.map_err(super::status::neutral));
        }
        Ok(())
    }

    /// Forces the next read to revalidate the cache.
    pub(super) fn look_again(&self) {
        if let Some(file) = &self.file {
            file.look_again();
        }
    }

    fn file(&self) -> Result<&File> {
        self.file.as_ref().ok_or(Error::Stale)
    }
}

impl OpenFile for RemoteFile {
    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        self.shared.locks.check(self.number)?;
        self.shared.wait(cx, self.file()?.read_at(offset_bytes, into))
    }

    fn read_lent(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<ReadBytes> {
        self.shared.locks.check(self.number)?;
        self.shared.wait(cx, self.file()?.read_lent(offset_bytes, into))
    }

    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        let file = self.file()?;
        if self.mode == OpenMode::Read {
            return Err(Error::AccessDenied);
        }
        self.late.tell()?;
        self.shared.locks.check(self.number)?;
        let is_stable = stability != Stability::Unstable || file.mount().options().caching.is_synchronous;
        let count = self.shared.wait(cx, file.write_as(offset_bytes, data, is_stable))?;
        Ok(Written { count, stability: if is_stable { Stability::File } else { Stability::Unstable } })
    }

    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        self.late.tell()?;
        self.shared.wait(cx, self.file()?.sync())
    }

    fn seek(&self, cx: &Context<'_>, offset_bytes: u64, what: Seek) -> Result<Option<u64>> {
        let file = self.file()?;
        match what {
            Seek::Data => self.shared.wait(cx, file.seek_data(offset_bytes)),
            Seek::Hole => self.shared.wait(cx, file.seek_hole(offset_bytes)),
        }
    }

    fn allocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        let length = range_bytes.end.saturating_sub(range_bytes.start);
        self.shared.wait(cx, self.file()?.allocate(range_bytes.start, length))
    }

    fn deallocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        let length = range_bytes.end.saturating_sub(range_bytes.start);
        self.shared.wait(cx, self.file()?.deallocate(range_bytes.start, length))
    }

    fn copy_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<u64> {
        let from = self.shared.opens.own(from).ok_or(Error::NotSupported)?;
        // A COPY of 0 bytes copies everything (RFC 7862 §15.2.3).
        if range.length_bytes == 0 {
            return Ok(0);
        }
        let (file, source) = (self.file()?, from.file()?);
        match self.shared.wait(cx, copies::copy(source, file, range))? {
            copies::Outcome::Copied(count) => Ok(count),
            // The caller reads and writes instead.
            copies::Outcome::Declined => Err(Error::NotSupported),
            copies::Outcome::Lost => {
                Err(Error::Io(io::Error::other("the server lost what it copied, again and again")))
            }
        }
    }

    fn clone_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<()> {
        let from = self.shared.opens.own(from).ok_or(Error::NotSupported)?;
        let (file, source) = (self.file()?, from.file()?);
        self.shared.wait(cx, file.clone_from(source, range.from_bytes, range.to_bytes, range.length_bytes))
    }

    fn lock(&self, cx: &Context<'_>, owner: LockOwner, lock: FileLock) -> Result<LockOutcome> {
        let known = self.shared.handles.find(&self.number.into())?;
        locks::lock(&self.shared, cx, (&known, owner), lock)
    }

    fn test_lock(&self, cx: &Context<'_>, owner: LockOwner, lock: FileLock) -> Result<LockOutcome> {
        locks::test(&self.shared, cx, (self.number, owner, self.file()?), lock)
    }

    fn unlock(&self, cx: &Context<'_>, owner: LockOwner, range_bytes: RangeInclusive<u64>) -> Result<()> {
        locks::unlock(&self.shared, cx, (self.number, owner), range_bytes.into_inner())
    }

    fn attributes(&self, cx: &Context<'_>) -> Result<Attributes> {
        self.send_changes(cx)?;
        let file = self.file()?;
        let attributes = self.shared.wait(cx, file.mount().attributes(file.handle()));
        self.shared.visible(self.number, attributes)
    }
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        let hidden = self.shared.opens.end(self.number);
        self.shared.handles.unpin(self.number);
        let Some(file) = self.file.take() else { return };
        self.shared.run(close(self.shared.mount.clone(), file, hidden));
    }
}

/// Commits and closes a file, and removes its hidden name. Errors only go to the log; [`OpenFile::sync`] before the
/// drop returns them.
async fn close(mount: Mount, file: File, hidden: Option<Hidden>) {
    let server = mount.server();
    if let Err(error) = file.close().await {
        tracing::warn!(server, %error, "cannot close a file; what was written to it and never synced may be lost");
    }
    if let Some(hidden) = hidden
        && let Err(error) = hidden.remove().await
    {
        tracing::debug!(server, %error, "cannot remove the name of a file that was removed while it was open");
    }
}
