//! The data of a file as one open of it sees it.

use std::io::IoSliceMut;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use client_calls::Recorder;
use tokio::runtime::Handle as Runtime;
use tokio::sync::futures::OwnedNotified;
use tokio::time::Instant;
use vfs::Attributes;

use super::fill::Fill;
use super::ids::{FileId, ReaderId};
use super::late_io::LateIo;
use super::past::{Hold, Passing};
use super::read::{Job, Progress, Step, Then};
use super::reader_window::ReaderWindow;
use super::table::BlockTable;
use super::write::Author;
use super::writer;
use crate::Result;
use crate::file::{Io, direct};

/// For how long a file's attributes are not looked up in their cache again; never longer than they are valid.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// An open file with cached data. On drop, dirty data is written back in the background.
#[derive(Debug)]
pub(crate) struct FileData {
    io: Arc<Io>,
    /// The same, for data that is written later.
    late: Arc<dyn LateIo>,
    file: FileId,
    reader: ReaderId,
    /// The window of the file's newest sequential reader.
    reader_window: Arc<ReaderWindow>,
    /// The runtime that the file was opened on; its tasks run there, whoever uses the file.
    runtime: Runtime,
}

impl FileData {
    /// Opens a file with these attributes. `is_cut`: the open truncated it, so nothing older is kept.
    pub(crate) fn open(io: &Arc<Io>, attributes: &Attributes, is_cut: bool) -> FileData {
        let mut state = io.mount.blocks().lock();
        let (file, reader) = state.open(&io.handle, attributes);
        if is_cut {
            state.set_size(file, attributes.size_bytes);
            let changes = state.file_ref(file).changes;
            state.learn(file, attributes, changes);
        }
        let reader_window = Arc::clone(&state.file_ref(file).reader_window);
        drop(state);
        FileData {
            io: Arc::clone(io),
            late: Arc::clone(io) as _,
            file,
            reader,
            reader_window,
            runtime: Runtime::current(),
        }
    }

    /// Fills `buffer`, unless the file ends.
    pub(crate) async fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        if self.reader_window.read(self.reader, offset, buffer) {
            self.recorder().block_reads.hits(1);
            return Ok(buffer.len());
        }
        if self.passes(offset, buffer.len() as u64) {
            let count = direct::read(&self.io, offset, buffer).await?;
            self.count_passed(count);
            return Ok(count);
        }
        let found = self.state().glance(self.reader, Instant::now, offset, buffer.len());
        if let Some(bytes) = found {
            buffer.copy_from_slice(&bytes);
            self.recorder().block_reads.hits(1);
            return Ok(buffer.len());
        }
        let mut call = Call::new(self, &self.recorder().block_reads, offset, buffer.len());
        self.fill(&mut call, offset, buffer).await
    }

    /// Whether a read bypasses the cache: it is large, and the server has the newest bytes.
    pub(crate) fn passes(&self, offset: u64, bytes: u64) -> bool {
        bytes > self.io.mount.options().caching.max_kept_read_bytes
            && self.state().is_servers(self.file, offset, offset.saturating_add(bytes))
    }

    /// Counts a read past the cache that brought so many bytes: the blocks that they fill are misses.
    pub(crate) fn count_passed(&self, count: usize) {
        let blocks = (count as u64).div_ceil(self.state().config.block_bytes().into());
        if blocks > 0 {
            self.recorder().block_reads.misses(blocks);
        }
    }

    /// Fills buffers one after another, unless the file ends. Missing data is requested at once for all of them.
    pub(crate) async fn read_vectored(&self, offset: u64, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
        let count = buffers.iter().map(|buffer| buffer.len()).sum();
        let mut call = Call::new(self, &self.recorder().block_reads, offset, count);
        let mut done = 0;
        for buffer in buffers {
            let count = self.fill(&mut call, offset + done as u64, buffer).await?;
            done += count;
            if count < buffer.len() {
                break;
            }
        }
        Ok(done)
    }

    async fn fill(&self, call: &mut Call<'_>, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let (mut done, now) = (0, Instant::now());
        loop {
            let (part, wait) = {
                let mut state = self.state();
                if call.is_checked || state.is_checked(self.file, now) {
                    let (at, left) = (offset + done as u64, buffer.len() - done);
                    let (part, step) = state.read(self.reader, &mut call.progress, at, left);
                    if state.file_ref(self.file).has_reader_window {
                        self.reader_window.watch(&self.runtime);
                    }
                    (part, self.start(&state, step))
                } else {
                    (Bytes::new(), Wait::Attributes(state.file_ref(self.file).changes))
                }
            };
            buffer[done..done + part.len()].copy_from_slice(&part);
            done += part.len();
            match wait {
                Wait::Over => return Ok(done),
                Wait::Attributes(changes) => call.is_checked = self.check(changes).await?,
                other => other.end().await?,
            }
        }
    }

    /// Takes all of `data`, to be written later, or sent and committed at once if it is urgent. Does not wait for that.
    pub(crate) async fn write(&self, offset: u64, data: &[u8], is_urgent: bool) -> Result<()> {
        let mut call = Call::new(self, &self.recorder().block_writes, offset, data.len());
        let mut done = 0;
        loop {
            let wait = {
                let mut state = self.state();
                let (file, can_read, now) = (self.file, self.io.can_read, Instant::now());
                if state.file_ref(file).version.is_none() {
                    // Bytes behind the end are zeros, so the length has to be known.
                    Wait::Attributes(state.file_ref(file).changes)
                } else {
                    let author = Author { file, io: Some(&self.late), can_read, now };
                    let (taken, step) = state.write(author, &mut call.progress, offset + done as u64, &data[done..])?;
                    done += taken;
                    if is_urgent && taken > 0 && done == data.len() {
                        // Set before the task looks: a single WRITE can then be stable, and needs no COMMIT.
                        state.want_written(file, true);
                    }
                    if state.needs_task(self.file) {
                        writer::start(&self.runtime, &self.io.mount, self.file);
                    }
                    self.start(&state, step)
                }
            };
            match wait {
                Wait::Over => return Ok(()),
                Wait::Attributes(changes) => drop(self.check(changes).await?),
                other => other.end().await?,
            }
        }
    }

    /// Has all changes written, and committed if asked.
    pub(crate) async fn flush(&self, is_committed: bool) -> Result<()> {
        self.written(is_committed).await;
        self.state().file(self.file).late.failures.take(Some(&self.late)).map_or(Ok(()), Err)
    }

    /// Flushes, and then adopts the file's version as our own: only a known version reveals later changes by others.
    /// The last reply to a WRITE or COMMIT may have told it already.
    pub(crate) async fn finish(&self, is_committed: bool) -> Result<()> {
        let result = self.flush(is_committed).await;
        let (is_explained, changes) = {
            let state = self.state();
            let file = state.file_ref(self.file);
            (file.is_explained, file.changes)
        };
        if is_explained && let Ok(attributes) = self.io.mount.attributes(&self.io.handle).await {
            self.state().learn(self.file, &attributes, changes);
        }
        result
    }

    /// Waits until all changes are written (committed if asked) or refused.
    pub(crate) async fn written(&self, is_committed: bool) {
        let to = {
            let mut state = self.state();
            if state.file_ref(self.file).dirty.is_empty() {
                return;
            }
            state.want_written(self.file, is_committed)
        };
        let unfinished = |state: &mut BlockTable| (!state.is_written(self.file, to, is_committed)).then_some(self.file);
        self.io.mount.blocks().wait_for_progress(unfinished).await;
    }

    /// Truncates or extends the file.
    pub(crate) async fn set_size(&self, size_bytes: u64) -> Result<()> {
        let hold = Hold::new(&self.io, self.file);
        let closed = |_| writer::closed(&self.io);
        self.runtime.spawn(async move { hold.set_size(size_bytes).await }).await.map_err(closed)?
    }

    /// Has the next read check the file's attributes again, even right after a check.
    pub(crate) fn look_again(&self) {
        self.state().file(self.file).checked_until = None;
    }

    /// Invalidates all clean data: the file was changed past the cache.
    pub(crate) fn forget(&self) {
        self.state().forget(self.file);
    }

    /// Notes that the file's bytes are changed past the cache until the result is dropped.
    pub(crate) fn pass(&self) -> Passing {
        Passing::begin(&self.io, self.file)
    }

    /// Checks the file's attributes. Returns whether its version is known.
    async fn check(&self, changes: u64) -> Result<bool> {
        let is_passed = self.state().file_ref(self.file).passing > 0;
        let attributes = match is_passed {
            true => self.io.getattr().await?,
            false => self.io.mount.attributes(&self.io.handle).await?,
        };
        let until = Instant::now() + CHECK_INTERVAL.min(self.io.mount.options().caching.file_min);
        let mut state = self.state();
        state.learn(self.file, &attributes, changes);
        let file = state.file(self.file);
        // After a change past the cache meanwhile, the version stays unknown.
        file.checked_until = file.version.is_some().then_some(until);
        Ok(file.version.is_some())
    }

    /// Starts a step's jobs, and returns what the caller has to wait for.
    fn start(&self, state: &BlockTable, step: Step) -> Wait {
        for job in step.jobs {
            let filling = Filling { io: Arc::clone(&self.io), job: Some(job) };
            self.runtime.spawn(filling.run());
        }
        match step.then {
            Then::Done => Wait::Over,
            Then::More => Wait::Nothing,
            Then::Filled(fill) => Wait::Fill(fill),
            Then::Room => Wait::Told(Arc::clone(&state.room).notified_owned()),
            Then::Written => {
                let progress = &state.file_ref(self.file).late.progress;
                Wait::Told(Arc::clone(progress).notified_owned())
            }
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, BlockTable> {
        self.io.mount.blocks().lock()
    }

    fn recorder(&self) -> &client_calls::CacheRecorder {
        self.io.mount.cache_recorder()
    }
}

impl Drop for FileData {
    fn drop(&mut self) {
        let mut state = self.state();
        state.want_written(self.file, true);
        state.close(self.file, self.reader);
    }
}

/// What a call waits for.
enum Wait {
    Over,
    Nothing,
    Attributes(u64),
    Fill(Arc<Fill>),
    Told(OwnedNotified),
}

impl Wait {
    async fn end(self) -> Result<()> {
        match self {
            Wait::Over | Wait::Nothing | Wait::Attributes(_) => Ok(()),
            Wait::Fill(fill) => fill.ended().await,
            Wait::Told(told) => {
                told.await;
                Ok(())
            }
        }
    }
}

/// A read or write in flight. On drop, also by cancellation, it releases its pins.
struct Call<'a> {
    data: &'a FileData,
    recorder: &'a Recorder,
    progress: Progress,
    /// Whether the version of the file that is read is known.
    is_checked: bool,
}

impl<'a> Call<'a> {
    fn new(data: &'a FileData, recorder: &'a Recorder, from: u64, count: usize) -> Call<'a> {
        let to_bytes = from.saturating_add(count as u64);
        let progress = Progress { from_bytes: from, to_bytes, ..Progress::default() };
        Call { data, recorder, progress, is_checked: false }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.progress.pins.is_empty() {
            self.data.state().unpin_all(&mut self.progress);
        }
        let Progress { hits, misses, read_first, .. } = self.progress;
        if hits > 0 {
            self.recorder.hits(hits);
        }
        if misses > 0 {
            self.recorder.misses(misses);
        }
        if read_first > 0 {
            self.data.recorder().block_reads.misses(read_first);
        }
    }
}

/// A task that reads blocks. It wakes those that wait, however it ends.
struct Filling {
    io: Arc<Io>,
    job: Option<Job>,
}

impl Filling {
    async fn run(mut self) {
        let Some(job) = &self.job else { return };
        let result = read(&self.io, job.offset_bytes, job.bytes).await;
        if result.as_ref().is_ok_and(|bytes| bytes.len() < job.bytes) {
            // The file is shorter than its attributes say.
            self.io.mount.outdate(&self.io.handle);
        }
        let brought = result.map(|bytes| job.brought(&bytes));
        if let Some(job) = self.job.take() {
            self.io.mount.blocks().lock().end_job(&job, brought);
        }
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            self.io.mount.blocks().lock().end_job(&job, Err(writer::closed(&self.io)));
        }
    }
}

/// Reads `count` bytes, in one READ if possible; fewer where the file ends.
async fn read(io: &Arc<Io>, offset: u64, count: usize) -> Result<Bytes> {
    if count <= io.mount.sizes().read as usize {
        return direct::read_piece(io, offset, count).await;
    }
    let mut bytes = vec![0; count];
    let done = direct::read(io, offset, &mut bytes).await?;
    bytes.truncate(done);
    Ok(bytes.into())
}
