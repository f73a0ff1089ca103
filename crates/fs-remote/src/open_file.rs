//! What callers do with an open file of a remote file system.

use std::io;
use std::ops::{Range, RangeInclusive};

use client_files::File;
use vfs::{
    Attributes, Context, CopyRange, Error, FileLock, LockOutcome, LockOwner, OpenFile, OpenMode, ReadBytes, Result,
    Seek, Stability, Written,
};

use super::remote_file::RemoteFile;
use super::{copies, locks};

impl OpenFile for RemoteFile {
    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        self.shared.locks.check(self.number())?;
        match cx.past_caches {
            true => self.shared.wait(cx, read_past_caches(self.file()?, offset_bytes, into)),
            false => self.shared.wait(cx, self.file()?.read_at(offset_bytes, into)),
        }
    }

    fn read_lent(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<ReadBytes> {
        if cx.past_caches {
            return self.read_at(cx, offset_bytes, into).map(ReadBytes::Copied);
        }
        self.shared.locks.check(self.number())?;
        self.shared.wait(cx, self.file()?.read_lent(offset_bytes, into))
    }

    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        let file = self.file()?;
        if self.mode() == OpenMode::Read {
            return Err(Error::AccessDenied);
        }
        self.late.tell()?;
        self.shared.locks.check(self.number())?;
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
            copies::CopyResult::Copied(count) => Ok(count),
            // The caller reads and writes instead.
            copies::CopyResult::Declined => Err(Error::NotSupported),
            copies::CopyResult::Lost => {
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
        let known = self.shared.handles.find(&self.number().into())?;
        locks::lock(&self.shared, cx, &known, owner, lock)
    }

    fn test_lock(&self, cx: &Context<'_>, owner: LockOwner, lock: FileLock) -> Result<LockOutcome> {
        locks::test(self, cx, owner, lock)
    }

    fn unlock(&self, cx: &Context<'_>, owner: LockOwner, range_bytes: RangeInclusive<u64>) -> Result<()> {
        locks::unlock(&self.shared, cx, self.number(), owner, range_bytes)
    }

    fn attributes(&self, cx: &Context<'_>) -> Result<Attributes> {
        self.send_changes(cx)?;
        let file = self.file()?;
        let attributes = self.shared.wait(cx, file.mount().attributes(file.handle()));
        self.shared.visible(self.number(), attributes)
    }
}

/// Reads from the server, which gets what was written here first. Returns fewer bytes only at the end of the file.
async fn read_past_caches(file: &File, offset_bytes: u64, into: &mut [u8]) -> client_files::Result<usize> {
    let mut count = 0;
    while count < into.len() {
        let part = file.read_into(offset_bytes.saturating_add(count as u64), &mut into[count..]).await?;
        count += part.count;
        if part.is_eof || part.count == 0 {
            break;
        }
    }
    Ok(count)
}
