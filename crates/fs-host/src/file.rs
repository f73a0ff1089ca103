//! Open regular files.

use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::fs::OFlags;
use rustix::io::{Errno, IoSlice, IoSliceMut, ReadWriteFlags};
use vfs::SendableFile;
use vfs::{
    Attributes, Context, CopyRange, Error, FileKind, Handle, HostFile, OpenFile, OpenMode, Result, Seek, Stability,
    Written,
};

use crate::attributes::{check_regular, from_statx, kind, stat_fd};
use crate::extents;
use crate::failure::failed;
use crate::flush::{Depth, FileId, Flush, FlushGroup, OpenFileId, Reach};
use crate::form::{decode, is_regular};
use crate::handles::Handles;
use crate::host::HostFs;
use crate::identity::Impersonation;
use crate::node::{HostNode, OPEN_FLAGS};
use crate::read_ahead::{FileStreams, ReadResidency};
use crate::resident::ResidentFile;
use crate::set_attributes::set_mode;
use crate::sync::check_space;
use crate::sys;
use crate::uncommitted::{UncommittedFiles, Writer};

/// How many slices one system call takes (`UIO_MAXIOV`).
const MAX_SLICES: usize = 1024;

const OWNER_READS_AND_WRITES: u32 = 0o600;

impl HostFs {
    pub(crate) fn open_regular(&self, cx: &Context<'_>, handle: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        // Before the file is opened: the kernel does not report errors to it that others got before.
        let known_failures = AtomicU64::new(self.flushes.failures());
        let OpenedFile { fd, file } = match mode {
            OpenMode::Read => self.open_anew(cx, handle, mode)?,
            OpenMode::Write => self.take_made(handle).map_or_else(|| self.open_anew(cx, handle, mode), Ok)?,
        };
        let writes = mode == OpenMode::Write && !self.volume.is_memory;
        if writes && self.options.is_behind_log {
            // An error from before is of data that a log has, of writers that hear of it, or of an earlier server.
            let _ = sys::pending_error(fd.as_fd());
        }
        let reads_ahead = mode == OpenMode::Read && !self.volume.is_memory;
        let streams = if reads_ahead { self.streams.of(handle, &fd) } else { None };
        let (fd, id) = (Arc::new(ResidentFile::new(fd, &self.volume)), self.flushes.opened(file));
        Ok(Arc::new(OpenHostFile {
            writer: writes.then(|| Writer::new(id, Arc::clone(&fd))),
            uncommitted: Arc::clone(&self.uncommitted),
            fd,
            streams,
            fsid: self.volume.device,
            is_memory: self.volume.is_memory,
            reads_without_waiting: AtomicBool::new(!self.volume.is_memory),
            identity: self.identity,
            id,
            known_failures,
            flushes: Arc::clone(&self.flushes),
        }))
    }

    /// A file that was made just now, and has a name still.
    fn take_made(&self, handle: &Handle) -> Option<OpenedFile> {
        let living = self.made.stat(handle)?;
        let fd = self.made.take(handle)?;
        let stat = living.and_then(|stat| self.check_living(handle, stat)).ok()?;
        Some(OpenedFile { fd, file: FileId::of(&stat) })
    }

    fn open_anew(&self, cx: &Context<'_>, handle: &Handle, mode: OpenMode) -> Result<OpenedFile> {
        if let Some(opened) = self.open_by_handle(handle, mode)? {
            return Ok(opened);
        }
        if mode == OpenMode::Write && self.handles.stored().is_some() {
            // An overlay may make another file of it, which has to be written down.
            self.check_may_change(cx)?;
        }
        let (node, stat) = self.living(cx, handle)?;
        check_regular(node.kind())?;
        self.identity.own()?;
        let fd = self.with_room(cx, || self.open_bytes(&node, mode))?;
        if mode == OpenMode::Write {
            self.reaffirm(handle, &node)?;
        }
        Ok(OpenedFile { fd, file: FileId::of(&stat) })
    }

    /// Opens a file whose handle says that it is regular. `None` if it does not, or if this fails: only opening it by
    /// its node tells the reason.
    fn open_by_handle(&self, handle: &Handle, mode: OpenMode) -> Result<Option<OpenedFile>> {
        let Handles::Kernel(kernel) = &self.handles else { return Ok(None) };
        if !is_regular(handle) {
            return Ok(None);
        }
        self.identity.own()?;
        let kernel = kernel.kernel_handle(&decode(handle)?)?;
        let flags = (access_flags(mode) | OPEN_FLAGS).bits().cast_signed();
        let Ok(fd) = sys::open_by_handle(self.volume.root(), &kernel, flags) else { return Ok(None) };
        let stat = stat_fd(fd.as_fd())?;
        // The kind is that of a name, of which the handle was asked for a moment later.
        let is_the_file = stat.stx_nlink > 0 && kind(&stat) == FileKind::Regular;
        Ok(is_the_file.then(|| OpenedFile { fd, file: FileId::of(&stat) }))
    }

    fn open_bytes(&self, node: &HostNode, mode: OpenMode) -> Result<OwnedFd> {
        self.reopen_as_owner(node, access_flags(mode))
    }

    /// Opens a regular file, against its mode where the server may do that and the caller therefore too.
    pub(crate) fn reopen_as_owner(&self, node: &HostNode, flags: OFlags) -> Result<OwnedFd> {
        match node.reopen(flags) {
            Err(Error::AccessDenied) if !self.identity.switches() => open_against_mode(node, flags),
            done => done,
        }
    }
}

/// A file that was just opened, and which one it is.
struct OpenedFile {
    fd: OwnedFd,
    file: FileId,
}

fn access_flags(mode: OpenMode) -> OFlags {
    match mode {
        OpenMode::Read => OFlags::RDONLY,
        OpenMode::Write => OFlags::RDWR,
    }
}

/// The part of `into` whose bytes have offsets: the kernel refuses a read that reaches beyond the largest one.
fn within_offsets(offset_bytes: u64, into: &mut [u8]) -> &mut [u8] {
    let room = i64::MAX.cast_unsigned().saturating_sub(offset_bytes);
    let length = into.len().min(usize::try_from(room).unwrap_or(usize::MAX));
    &mut into[..length]
}

/// Opens a file whose mode keeps its owner out, when this process is the owner: an owner may always change the mode,
/// and a client that made a file without write permission goes on writing it (RFC 1813 §4.4). Root has no need of this.
fn open_against_mode(node: &HostNode, flags: OFlags) -> Result<OwnedFd> {
    let mode = u32::from(stat_fd(node.fd())?.stx_mode) & 0o7777;
    set_mode(node.fd(), mode | OWNER_READS_AND_WRITES).map_err(|_| Error::AccessDenied)?;
    let opened = node.reopen(flags);
    set_mode(node.fd(), mode)?;
    opened
}

/// A regular file, open for its bytes.
struct OpenHostFile {
    fd: Arc<ResidentFile>,
    /// What stays of the file when it is closed before its bytes are committed, where that matters.
    writer: Option<Arc<Writer>>,
    uncommitted: Arc<UncommittedFiles>,
    /// Who reads the file from front to back, where the server reads ahead of them.
    streams: Option<Arc<FileStreams>>,
    fsid: u64,
    is_memory: bool,
    /// Cleared when the file system turns out not to know `RWF_NOWAIT`.
    reads_without_waiting: AtomicBool,
    identity: Impersonation,
    id: OpenFileId,
    /// How many flushes had failed when [`OpenFile::sync`] last failed, or else when the file was opened.
    known_failures: AtomicU64,
    /// The callers of the export that wait for storage.
    flushes: Arc<FlushGroup>,
}

impl OpenFile for OpenHostFile {
    fn read_at(&self, cx: &Context<'_>, offset_bytes: u64, into: &mut [u8]) -> Result<usize> {
        let flags = if cx.may_block || self.is_memory { ReadWriteFlags::empty() } else { ReadWriteFlags::NOWAIT };
        let into = within_offsets(offset_bytes, into);
        let range = offset_bytes..offset_bytes.saturating_add(into.len() as u64);
        if flags.contains(ReadWriteFlags::NOWAIT) {
            let result = self.try_read(offset_bytes, into, flags);
            let is_missing = matches!(result, Err(Error::WouldBlock));
            self.note_read(range, if is_missing { ReadResidency::Missing } else { ReadResidency::Here });
            result
        } else {
            // What is read ahead is asked for before this read waits for its own bytes.
            self.note_read(range, ReadResidency::Unknown);
            let result = self.try_read(offset_bytes, into, flags);
            self.fd.note_storage_read();
            result
        }
    }

    fn write_at(&self, cx: &Context<'_>, offset_bytes: u64, data: &[u8], stability: Stability) -> Result<Written> {
        self.write_slices(cx, offset_bytes, &mut [IoSlice::new(data)], stability)
    }

    fn write_parts_at(
        &self,
        cx: &Context<'_>,
        offset_bytes: u64,
        parts: &[&[u8]],
        stability: Stability,
    ) -> Result<Written> {
        let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        self.write_slices(cx, offset_bytes, &mut slices, stability)
    }

    fn sync(&self, cx: &Context<'_>) -> Result<()> {
        self.check_may_wait(cx)?;
        self.with_failures(|| self.flush_with_writers())
    }

    fn check_written(&self, cx: &Context<'_>) -> Result<()> {
        self.check_may_wait(cx)?;
        self.with_failures(|| self.ask(&self.uncommitted.take(self.id.file())))
    }

    fn seek(&self, cx: &Context<'_>, offset_bytes: u64, what: Seek) -> Result<Option<u64>> {
        self.check_may_wait(cx)?;
        extents::seek(self.fd.as_fd(), offset_bytes, what)
    }

    fn allocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        self.check_may_wait(cx)?;
        check_space(cx, range_bytes.end.saturating_sub(range_bytes.start))?;
        self.identity.assume(&cx.caller)?;
        self.noted(extents::allocate(self.fd.as_fd(), &range_bytes))
    }

    fn deallocate(&self, cx: &Context<'_>, range_bytes: Range<u64>) -> Result<()> {
        self.check_may_wait(cx)?;
        check_space(cx, range_bytes.end.saturating_sub(range_bytes.start))?;
        self.identity.assume(&cx.caller)?;
        self.noted(extents::deallocate(self.fd.as_fd(), &range_bytes))
    }

    fn copy_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<u64> {
        self.check_may_wait(cx)?;
        check_space(cx, range.length_bytes)?;
        self.identity.assume(&cx.caller)?;
        self.noted(extents::copy(self.fd.as_fd(), from, range))
    }

    fn clone_range(&self, cx: &Context<'_>, from: &dyn OpenFile, range: CopyRange) -> Result<()> {
        self.check_may_wait(cx)?;
        self.identity.assume(&cx.caller)?;
        self.noted(extents::clone(self.fd.as_fd(), from, range))
    }

    fn attributes(&self, _cx: &Context<'_>) -> Result<Attributes> {
        Ok(from_statx(&stat_fd(self.fd.as_fd())?, self.fsid))
    }

    fn host_file(&self) -> Option<HostFile> {
        Some(Arc::clone(&self.fd) as HostFile)
    }

    fn is_resident(&self, offset_bytes: u64, length: usize) -> bool {
        let is_resident = self.fd.is_resident(offset_bytes, length);
        if is_resident {
            self.note_read(offset_bytes..offset_bytes.saturating_add(length as u64), ReadResidency::Here);
        }
        is_resident
    }

    fn evict(&self, range_bytes: Range<u64>) -> bool {
        self.fd.evict(&range_bytes)
    }
}

impl OpenHostFile {
    fn would_wait(&self, cx: &Context<'_>) -> bool {
        !cx.may_block && !self.is_memory
    }

    /// Takes note of a read for the read-ahead, and of whether the file's bytes come from storage now.
    fn note_read(&self, range_bytes: Range<u64>, residency: ReadResidency) {
        if residency == ReadResidency::Missing {
            self.fd.note_storage_read();
        }
        if let Some(streams) = &self.streams {
            streams.note(&self.fd, range_bytes, residency);
        }
    }

    fn check_may_wait(&self, cx: &Context<'_>) -> Result<()> {
        if self.would_wait(cx) { Err(Error::WouldBlock) } else { Ok(()) }
    }

    fn try_read(&self, offset_bytes: u64, into: &mut [u8], flags: ReadWriteFlags) -> Result<usize> {
        if flags.contains(ReadWriteFlags::NOWAIT) && !self.reads_without_waiting.load(Ordering::Relaxed) {
            return Err(Error::WouldBlock);
        }
        self.read_all(offset_bytes, into, flags)
    }

    /// Reads until the buffer is full or the file ends. A short read alone does not tell: without waiting, the kernel
    /// also stops at the first page that it does not have.
    fn read_all(&self, offset_bytes: u64, into: &mut [u8], flags: ReadWriteFlags) -> Result<usize> {
        let mut done = 0;
        while done < into.len() {
            let mut rest = [IoSliceMut::new(&mut into[done..])];
            match rustix::io::preadv2(&self.fd, &mut rest, offset_bytes + done as u64, flags) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(Errno::INTR) => {}
                Err(Errno::NOTSUP) if flags.contains(ReadWriteFlags::NOWAIT) => {
                    self.reads_without_waiting.store(false, Ordering::Relaxed);
                    return Err(Error::WouldBlock);
                }
                Err(errno) => return Err(failed(errno)),
            }
        }
        Ok(done)
    }

    fn write_slices(
        &self,
        cx: &Context<'_>,
        offset_bytes: u64,
        slices: &mut [IoSlice<'_>],
        stability: Stability,
    ) -> Result<Written> {
        if stability != Stability::Unstable && self.would_wait(cx) {
            return Err(Error::WouldBlock);
        }
        // As the caller, so that the kernel takes the set-id bits away and the reserve for root stays root's.
        self.identity.assume(&cx.caller)?;
        let count = match stability {
            Stability::Unstable => self.noted(self.write_all(offset_bytes, slices, ReadWriteFlags::empty()))?,
            Stability::Data => self.write_stably(offset_bytes, slices, ReadWriteFlags::DSYNC, Depth::Data)?,
            Stability::File => self.write_stably(offset_bytes, slices, ReadWriteFlags::SYNC, Depth::All)?,
        };
        Ok(Written { count, stability })
    }

    /// Writes through to storage when nobody else flushes; else the flush of the next group carries the bytes.
    fn write_stably(
        &self,
        offset_bytes: u64,
        slices: &mut [IoSlice<'_>],
        flags: ReadWriteFlags,
        depth: Depth,
    ) -> Result<usize> {
        if self.is_memory {
            return self.write_all(offset_bytes, slices, flags);
        }
        let since = self.flushes.failures();
        let count = match self.flushes.try_leave() {
            Some(_leave) => self.write_through(offset_bytes, slices, flags)?,
            None => {
                let count = self.write_all(offset_bytes, slices, ReadWriteFlags::empty())?;
                self.flush(depth)?;
                count
            }
        };
        self.check(Reach::OpenFile, since)?;
        Ok(count)
    }

    /// Writes and flushes by one system call. It does not say which of both has failed: a lack of space is taken for a
    /// refused write.
    fn write_through(&self, offset_bytes: u64, slices: &mut [IoSlice<'_>], flags: ReadWriteFlags) -> Result<usize> {
        let write = || {
            let written = self.write_all(offset_bytes, slices, flags);
            if written.as_ref().is_err_and(|error| !is_refusal(error)) {
                self.lose();
            }
            written
        };
        self.flushes.watched(self.id, write)
    }

    /// Writes the bytes to the disk before a flush that is shared, so that others do not wait for all of them.
    fn write_out(&self) -> Result<()> {
        if !self.flushes.is_shared() {
            return Ok(());
        }
        sys::write_out(self.fd.as_fd()).map_err(failed)
    }

    /// Notes that the file has uncommitted bytes, whatever the outcome of the change that wrote them.
    fn noted<T>(&self, changed: Result<T>) -> Result<T> {
        if let Some(writer) = &self.writer {
            self.uncommitted.note(writer);
        }
        changed
    }

    /// Runs a flush or a check, and fails also for what others have learned since this open file was told.
    fn with_failures(&self, run: impl FnOnce() -> Result<()>) -> Result<()> {
        let since = self.known_failures.load(Ordering::Relaxed);
        let result = self.flushes.watched(self.id, run).and_then(|()| self.check(Reach::File, since));
        if result.is_err() {
            self.known_failures.store(self.flushes.failures(), Ordering::Relaxed);
        }
        result
    }

    /// Flushes the file, and asks all descriptors for errors by which it was written since it was last flushed.
    fn flush_with_writers(&self) -> Result<()> {
        let writers = self.uncommitted.take(self.id.file());
        self.write_out().inspect_err(|_| self.lose())?;
        self.flush(Depth::All)?;
        self.ask(&writers)
    }

    /// Asks descriptors for errors that they were not told of.
    fn ask(&self, writers: &[Arc<Writer>]) -> Result<()> {
        let reported = writers.iter().try_for_each(|writer| writer.pending_error());
        reported.inspect_err(|_| self.lose()).map_err(failed)
    }

    fn lose(&self) {
        self.flushes.lose(self.id, self.fd.as_fd());
    }

    /// Brings the file to storage together with those of other callers.
    fn flush(&self, depth: Depth) -> Result<()> {
        let flush = Flush { fd: self.fd.as_fd(), depth, of: Some(self.id) };
        self.flushes.flush(&[flush]).map_err(failed)
    }

    /// Fails when another flush may have got the error of bytes that were written when so many had failed.
    fn check(&self, reach: Reach, since: u64) -> Result<()> {
        self.flushes.check(self.id, reach, since).map_err(failed)
    }

    /// Writes until everything is written; what was written before an error counts, and the error is repeated next
    /// time. An error of a flush is not repeated, so it counts at once.
    fn write_all(&self, offset_bytes: u64, mut slices: &mut [IoSlice<'_>], flags: ReadWriteFlags) -> Result<usize> {
        let mut done = 0;
        while !slices.is_empty() {
            let some = slices.len().min(MAX_SLICES);
            match rustix::io::pwritev2(&self.fd, &slices[..some], offset_bytes + done as u64, flags) {
                Ok(0) => break,
                Ok(count) => {
                    done += count;
                    IoSlice::advance_slices(&mut slices, count);
                }
                Err(Errno::INTR) => {}
                Err(errno) => {
                    let error = failed(errno);
                    let is_loss = !flags.is_empty() && !is_refusal(&error);
                    if done == 0 || is_loss {
                        return Err(error);
                    }
                    break;
                }
            }
        }
        Ok(done)
    }
}

impl Drop for OpenHostFile {
    fn drop(&mut self) {
        if let Some(writer) = &self.writer {
            self.uncommitted.close(writer);
        }
    }
}

/// Whether a write found no room.
fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::NoSpace | Error::Quota | Error::FileTooBig)
}

#[cfg(test)]
mod tests {
    use testing::host_export::{CX, Export};

    use super::*;
    use crate::options::{HandleForm, HostOptions};

    #[test]
    fn handle_that_calls_a_fifo_regular_opens_nothing() {
        let export = Export::in_memory();
        let options = HostOptions { handle_form: HandleForm::Kernel, ..HostOptions::default() };
        let Ok(fs) = HostFs::open(&export.path(), options) else { return };
        let Handles::Kernel(kernel) = &fs.handles else { panic!("no handles of the kernel") };
        let path = export.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let path = std::ffi::CString::new(path.into_os_string().into_encoded_bytes()).unwrap();
        let handle = kernel.make(fs.volume.root(), &path, FileKind::Regular).unwrap();
        assert!(is_regular(&handle));
        for mode in [OpenMode::Read, OpenMode::Write] {
            assert!(matches!(fs.open_regular(&CX, &handle, mode), Err(Error::WrongKind)), "{mode:?}");
        }
    }
}
