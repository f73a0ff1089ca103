//! Open files.

use std::ops::Range;
use std::sync::Arc;

use vfs::{Attributes, Context, CopyRange, Handle, HostFile, OpenFile, ReadBytes, Result, Stability, Written};

use super::flushes::{FlushInFlight, Flushed};
use super::set_id::SET_ID_BITS;
use super::unsynced::Taken;
use super::{Dirty, FlushCount, LoggedExport, Pending, now_ns, ns};
use crate::log::Position;
use crate::record::{Change, FileId, Synced, Write};

/// An open file whose stable writes go into the log.
pub(super) struct StableFile {
    pub(super) inner: Arc<dyn OpenFile>,
    pub(super) handle: Handle,
    pub(super) export: Arc<LoggedExport>,
}

#[deny(clippy::missing_trait_methods)]
impl OpenFile for StableFile {
    vfs::forward!(OpenFile for self.inner:
        check_written, seek, lock, test_lock, unlock, is_resident, evict);

    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        self.export.check_readable(&self.handle)?;
        self.inner.read_at(cx, offset_bytes, into)
    }

    fn read_lent(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<ReadBytes> {
        self.export.check_readable(&self.handle)?;
        self.inner.read_lent(cx, offset_bytes, into)
    }

    fn host_file(&self) -> Option<HostFile> {
        self.export.check_readable(&self.handle).ok().and_then(|()| self.inner.host_file())
    }

    fn attributes(&self, cx: &Context<'_>) -> Result<Attributes> {
        Ok(self.export.versions.attributes(self.inner.attributes(cx)?))
    }

    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        self.write_parts_at(cx, offset_bytes, &[data], stability)
    }

    fn write_parts_at(
        &self,
        cx: &Context<'_>,
        offset_bytes: u64,
        parts: &[&[u8]],
        stability: Stability,
    ) -> Result<Written> {
        if stability == Stability::Unstable {
            return self.write_unstable(cx, offset_bytes, parts);
        }
        let bytes = parts.iter().map(|part| part.len()).sum();
        // Decided once: the log may get slow meanwhile, and an event loop cannot flush what it has written.
        let is_flushed = self.export.log.passes(bytes);
        let held = self.export.hold_to_write(cx, &self.handle, bytes, is_flushed)?;
        self.export.clear_set_id_ahead(cx, &self.handle)?;
        let flushes = self.export.volume.unsynced.flushes();
        let old_end = self.export.old_end(|| self.inner.attributes(&Context::ROOT))?;
        let written = self.inner.write_parts_at(cx, offset_bytes, parts, Stability::Unstable)?;
        if is_flushed {
            let before = self.export.log.end();
            drop(held);
            self.bring_to_storage(cx, self.begin_flush(), before)?;
            return Ok(Written { stability, ..written });
        }
        let data = Data { offset_bytes, parts: &first(parts, written.count), by_root: cx.caller.is_root() };
        let zeros = self.export.late_zeros(old_end, offset_bytes);
        let zeros = self.read_ranges(cx, zeros.as_slice())?;
        self.append_read(&Context { ticket: &[], ..*cx }, flushes, (&zeros, data.by_root));
        let pending = self.append_data(cx, flushes, &data);
        drop(held);
        if let Some(pending) = pending {
            self.export.settle(&pending)?;
        }
        Ok(Written { stability, ..written })
    }

    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        self.export.check(cx)?;
        let held = self.export.hold_file(cx, &self.handle)?;
        let flushes = self.export.volume.unsynced.flushes();
        let Taken { dirty, by_root } = self.export.volume.unsynced.take(&self.handle);
        let logged = match dirty {
            Dirty::Ranges(ranges) => {
                let read = self.read_unsynced(cx, &ranges).map_err(|error| self.keep_dirty(error))?;
                self.append_read(cx, flushes, (&read, by_root || self.has_set_id()))
            }
            Dirty::Much => Some(Pending::Unlogged),
        };
        if let Some(Pending::Unlogged) = logged {
            // A new size that is recorded but not set yet would hold the file, so its record can only come after
            // this position. The flush begins while the file is held: other COMMITs wait for it.
            let (flush, before) = (self.begin_flush(), self.export.log.end());
            drop(held);
            return self.bring_to_storage(cx, flush, before).map_err(|error| self.keep_dirty(error));
        }
        drop(held);
        // Another COMMIT may have taken data, and not be done with them.
        self.export.wait_for_flushes(Flushed::File(self.handle))?;
        let pending = logged.or_else(|| self.export.volume.unsynced.logged_end(&self.handle).map(Pending::Logged));
        pending.map_or(Ok(()), |pending| self.export.settle(&pending)).map_err(|error| self.keep_dirty(error))
    }

    fn allocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        self.change(cx, || self.inner.allocate(cx, range_bytes))
    }

    fn deallocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        self.change(cx, || self.inner.deallocate(cx, range_bytes))
    }

    fn copy_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<u64> {
        self.change(cx, || self.inner.copy_range(cx, from, range))
    }

    fn clone_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<()> {
        self.change(cx, || self.inner.clone_range(cx, from, range))
    }
}

impl StableFile {
    fn write_unstable(&self, cx: &Context<'_>, offset_bytes: u64, parts: &[&[u8]]) -> Result<Written> {
        let old_end = self.export.old_end(|| self.inner.attributes(&Context::ROOT))?;
        let written = self.export.while_set_id_is_clear(cx, &self.handle, || match *parts {
            [data] => self.inner.write_at(cx, offset_bytes, data, Stability::Unstable),
            _ => self.inner.write_parts_at(cx, offset_bytes, parts, Stability::Unstable),
        })?;
        if written.stability == Stability::Unstable {
            // Noted after the write: a flush that began earlier may miss it.
            let range_bytes = offset_bytes..offset_bytes + written.count as u64;
            let zeros = self.export.late_zeros(old_end, offset_bytes);
            for range_bytes in zeros.into_iter().chain([range_bytes]) {
                self.export.volume.unsynced.wrote(&self.handle, range_bytes, cx.caller.is_root());
            }
        }
        Ok(written)
    }

    /// Appends records of data; the caller holds the file, and counted `flushes` before the data were read or written.
    /// `None` when there is nothing to append.
    fn append_data(&self, cx: &Context<'_>, flushes: FlushCount, data: &Data<'_>) -> Option<Pending> {
        let Data { mut offset_bytes, parts, by_root } = *data;
        let (file, mut last) = (FileId(self.handle), None);
        // A replay sets the time of modification that clients see now.
        let at_ns = self.inner.attributes(&Context::ROOT).map_or_else(|_| now_ns(), |now| ns(now.modified));
        for part in parts {
            for data in part.chunks(self.export.log.max_data_bytes()) {
                let write = Change::Write(Write { file, offset_bytes, by_root });
                let pending = self.export.append_at(cx, at_ns, write, data);
                self.export.note_record(&self.handle, &pending, flushes);
                offset_bytes += data.len() as u64;
                last = Some(pending);
            }
        }
        last
    }

    /// Reads unstably written data back; the caller holds the file. A page that storage has not taken may be gone, and
    /// what is read then is what storage has.
    fn read_unsynced(&self, cx: &Context<'_>, ranges: &[Range<u64>]) -> Result<Vec<(u64, Vec<u8>)>> {
        let read = self.read_ranges(cx, ranges)?;
        if !read.is_empty() {
            self.export.checked(self.inner.check_written(cx))?;
        }
        Ok(read)
    }

    /// Whether the file has set-id bits: then nobody has written it since they were set but who may keep them. The
    /// caller holds the file.
    fn has_set_id(&self) -> bool {
        self.inner.attributes(&Context::ROOT).is_ok_and(|now| now.mode & SET_ID_BITS != 0)
    }

    /// Reads ranges of the file, as far as it has them.
    fn read_ranges(&self, cx: &Context<'_>, ranges: &[Range<u64>]) -> Result<Vec<(u64, Vec<u8>)>> {
        let read = |range: &Range<u64>| {
            let mut data = vec![0; (range.end - range.start) as usize];
            let count = self.inner.read_at(cx, range.start, &mut data)?;
            data.truncate(count);
            Ok((range.start, data))
        };
        ranges.iter().map(read).collect()
    }

    /// Appends records of data that were read back, each with its offset.
    fn append_read(
        &self,
        cx: &Context<'_>,
        flushes: FlushCount,
        (read, by_root): (&[(u64, Vec<u8>)], bool),
    ) -> Option<Pending> {
        let append = |last, (offset_bytes, data): &(u64, Vec<u8>)| {
            let data = Data { offset_bytes: *offset_bytes, parts: &[data], by_root };
            self.append_data(cx, flushes, &data).or(last)
        };
        read.iter().fold(None, append)
    }

    fn begin_flush(&self) -> FlushInFlight<'_> {
        self.export.volume.flushes.begin(Flushed::File(self.handle))
    }

    /// Syncs the file, and marks its data and attributes in the log before a position as obsolete.
    fn bring_to_storage(&self, cx: &Context<'_>, flush: FlushInFlight<'_>, before: Position) -> Result<()> {
        self.export.end_flush(flush, || {
            self.inner.sync(cx)?;
            if self.export.volume.unsynced.logged_end(&self.handle).is_none() {
                return Ok(());
            }
            let synced = Synced { file: FileId(self.handle), before: before.bytes() };
            let pending = self.export.append(cx, Change::Synced(synced), &[]);
            self.export.settle(&pending)
        })
    }

    /// Makes a change of data that is not logged.
    fn change<T>(&self, cx: &Context<'_>, make: impl FnOnce() -> Result<T>) -> Result<T> {
        let done = self.export.while_set_id_is_clear(cx, &self.handle, make)?;
        self.export.volume.unsynced.changed(&self.handle);
        Ok(done)
    }

    fn keep_dirty(&self, error: vfs::Error) -> vfs::Error {
        self.export.volume.unsynced.put_back(&self.handle);
        error
    }
}

/// Bytes of a file that were written.
struct Data<'d> {
    offset_bytes: u64,
    parts: &'d [&'d [u8]],
    /// Whether they keep set-id bits, as what root writes does.
    by_root: bool,
}

/// Returns the first `count` bytes of the parts.
fn first<'d>(parts: &[&'d [u8]], count: usize) -> Vec<&'d [u8]> {
    let mut left = count;
    let mut some = Vec::with_capacity(parts.len());
    for part in parts {
        let taken = &part[..part.len().min(left)];
        left -= taken.len();
        some.push(taken);
    }
    some
}
