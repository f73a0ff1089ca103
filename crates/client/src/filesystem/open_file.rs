//! An open file of a remote file system.

use std::io;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use bytes::Bytes;
use vfs::{
    Attributes, Context, CopyRange, Error, FileLock, LockOutcome, LockOwner, OpenFile, OpenMode, Result, Seek,
    Stability, Written,
};

use super::handles::{Known, NameIn, Number};
use super::unstable::Unstable;
use super::{Shared, locks};
use crate::{Extent, File, Mount, Status, Version};

/// A file that is open. It is committed and closed when it is dropped, which waits for the server.
#[derive(Debug)]
pub(super) struct RemoteFile {
    shared: Arc<Shared>,
    number: Number,
    mode: OpenMode,
    /// Only dropping takes it out.
    file: Option<File>,
    unstable: Arc<Unstable>,
}

impl RemoteFile {
    /// Takes what was opened; the file stays known as long as this lives.
    pub(super) fn new(shared: &Arc<Shared>, known: Known, (mode, file): (OpenMode, File)) -> Arc<RemoteFile> {
        shared.handles.pin(&known);
        let unstable = shared.opens.begin(known.number);
        Arc::new(RemoteFile { shared: Arc::clone(shared), number: known.number, mode, file: Some(file), unstable })
    }

    pub(super) fn number(&self) -> Number {
        self.number
    }

    pub(super) fn mode(&self) -> OpenMode {
        self.mode
    }

    fn file(&self) -> Result<&File> {
        self.file.as_ref().ok_or(Error::Stale)
    }

    /// Whether the version has the operations on holes.
    fn knows_holes(&self) -> bool {
        self.shared.mount.version() >= Version::V4(proto::nfs4::MinorVersion::V2)
    }

    /// Where data or a hole begins in a file of which only the size is known: all of it is data.
    fn seek_by_size(&self, cx: &Context<'_>, offset_bytes: u64, what: Seek) -> Result<Option<u64>> {
        let size = self.attributes(cx)?.size_bytes;
        Ok(match what {
            _ if offset_bytes >= size => None,
            Seek::Data => Some(offset_bytes),
            Seek::Hole => Some(size),
        })
    }
}

impl OpenFile for RemoteFile {
    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        let file = self.file()?;
        self.shared.wait(cx, async {
            let mut count = 0;
            while count < into.len() {
                let Some(offset) = offset_bytes.checked_add(count as u64) else { break };
                let read = file.read_into(offset, &mut into[count..]).await?;
                count += read.count;
                if read.is_eof {
                    break;
                }
            }
            Ok(count)
        })
    }

    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        let file = self.file()?;
        if self.mode == OpenMode::Read {
            return Err(Error::AccessDenied);
        }
        let largest = self.shared.mount.sizes().write as usize;
        let mut all = Written { count: 0, stability: Stability::File };
        for part in data.chunks(largest) {
            let offset = offset_bytes.checked_add(all.count as u64).ok_or(Error::FileTooBig)?;
            match self.shared.wait(cx, file.write(offset, Bytes::copy_from_slice(part), stability)) {
                Ok(written) => {
                    self.unstable.note(&written);
                    all.count += written.count as usize;
                    all.stability = all.stability.min(written.stability);
                    if (written.count as usize) < part.len() {
                        break;
                    }
                }
                Err(error) if all.count == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(all)
    }

    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        let verifier = self.shared.wait(cx, self.file()?.commit(0, 0))?;
        if self.unstable.committed(verifier) {
            return Ok(());
        }
        Err(Error::Io(io::Error::other("the server restarted before it had written everything to stable storage")))
    }

    fn seek(&self, cx: &Context<'_>, offset_bytes: u64, what: Seek) -> Result<Option<u64>> {
        if !self.knows_holes() {
            return self.seek_by_size(cx, offset_bytes, what);
        }
        let extent = match what {
            Seek::Data => Extent::Data,
            Seek::Hole => Extent::Hole,
        };
        match self.shared.wait_for(cx, self.file()?.seek(offset_bytes, extent))? {
            Err(error) if error.status() == Some(Status::NoDevice) => Ok(None),
            Err(error) if error.status() == Some(Status::NotSupported) => self.seek_by_size(cx, offset_bytes, what),
            other => other.map_err(super::status::neutral),
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
        // A COPY of no bytes copies all there are (RFC 7862 §15.2.3).
        if range.length_bytes == 0 {
            return Ok(0);
        }
        let (file, source) = (self.file()?, from.file()?);
        let copied = self
            .shared
            .wait(cx, async { file.copy_from(source, range.from_bytes, range.to_bytes, range.length_bytes).await })?;
        let verifier = copied.verifier;
        self.unstable.note(&crate::Written { count: 0, stability: copied.stability, verifier });
        Ok(copied.count)
    }

    fn clone_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<()> {
        let from = self.shared.opens.own(from).ok_or(Error::NotSupported)?;
        if range.length_bytes == 0 {
            return Ok(());
        }
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
        self.shared.wait(cx, self.file()?.getattr())
    }
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        let hidden = self.shared.opens.end(self.number);
        self.shared.handles.unpin(self.number);
        let Some(file) = self.file.take() else { return };
        let (mount, unstable) = (self.shared.mount.clone(), Arc::clone(&self.unstable));
        self.shared.run(close(mount, file, (unstable, hidden)));
    }
}

/// Commits and closes a file, and removes the name that was kept for it. Nobody waits for errors here any more: who wants them calls
/// [`OpenFile::sync`] before.
async fn close(mount: Mount, file: File, (unstable, hidden): (Arc<Unstable>, Option<NameIn>)) {
    let server = mount.server();
    if !unstable.is_clean() && hidden.is_none() {
        match file.commit(0, 0).await {
            Ok(verifier) if unstable.committed(verifier) => {}
            Ok(_) => tracing::warn!(server, "bytes were lost: the server restarted before a file was closed"),
            Err(error) => tracing::warn!(server, %error, "bytes may be lost: the file cannot be committed"),
        }
    }
    if let Err(error) = file.close().await {
        tracing::debug!(server, %error, "cannot close a file");
    }
    if let Some(NameIn { dir, name }) = hidden
        && let Err(error) = mount.remove(&dir, &name).await
    {
        tracing::debug!(server, %error, "cannot remove the name of a file that was removed while it was open");
    }
}
