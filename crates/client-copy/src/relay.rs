//! Copies one file from server to server. If one server has both files and can, it clones or copies the data by itself;
//! otherwise the data goes through this machine, with many reads and writes at once. Holes stay holes.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{Buf, Bytes};
use client_files::{Copied, Entry, Error, File, Handle, Mount, OpenOptions, Segment, Status, Version};
use tokio::task::JoinSet;
use vfs::{SetAttributes, Stability};

use super::content::Content;
use super::error::CopyError;
use super::job::Job;
use super::place::Place;
use super::reading::Source;
use super::resume::Readable;
use super::safety::{MAX_RESENDS, Safety};
use super::there::There;
use super::xattrs::Holder;
use super::{holes, resume, verify, xattrs};

/// A file to copy from one server to another, or within one.
pub(super) struct Relaying {
    pub(super) source: Mount,
    pub(super) from: Entry,
    pub(super) to: Place,
}

pub(super) async fn relay(job: &Arc<Job>, mut file: Relaying) -> Result<Handle, CopyError> {
    let content = Content::There(file.source.clone(), file.from.handle);
    // The server copies faster than the file can be compared.
    let resumes = !may_copy_there(job, &file);
    let original = resumes.then_some(Readable { content: &content, attributes: &file.from.attributes });
    let (target, mut start) = file.to.open(job, original).await?;
    let made = loop {
        let (made, copied_to) = write_until_safe(job, &file, &target, start).await?;
        if copied_to < file.from.attributes.size_bytes {
            // A server's own copy may still be going on for a moment.
            let checkpoint = resume::checkpoint(&file.from.attributes, copied_to).filter(|_| resumes);
            return Err(file.to.leave(job, &target, checkpoint).await);
        }
        // The file may have grown since it was listed.
        let now = file.source.getattr(&file.from.handle).await.map_err(|error| error.about(&file.to.path))?;
        if now.size_bytes <= copied_to {
            break made;
        }
        start = copied_to;
        file.from.attributes.size_bytes = now.size_bytes;
    };
    let attributes = &file.from.attributes;
    let about = |error: Error| error.about(&file.to.path);
    // The end may be a hole, which no WRITE makes. A clone has its length already; setting it would end the sharing of
    // its last block.
    if made == Made::Written {
        let size = SetAttributes { size_bytes: Some(attributes.size_bytes), ..SetAttributes::default() };
        job.mount.setattr(&target, &size).await.map_err(about)?;
    }
    if job.options.verify {
        let copy = Content::There(job.mount.clone(), target);
        verify::compare(job, &file.to.path, &content, &copy, attributes.size_bytes).await?;
    }
    // The mode may forbid this, and the time of modification marks the copy as whole: both are set afterwards.
    let (source, there) = (There(file.source.clone()), There(job.mount.clone()));
    let original = Holder { side: &source, file: &file.from.handle };
    xattrs::keep(job, &file.to.path, original, Holder { side: &there, file: &target }).await?;
    there.set_final(job, &file.to.path, &target, &job.final_attributes(attributes)).await?;
    Ok(target)
}

/// How the data was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Made {
    Cloned,
    Written,
}

/// Copies everything behind the first `start` bytes to stable storage. Returns how far it came: less than the length if
/// the job was halted.
async fn write_until_safe(
    job: &Arc<Job>,
    file: &Relaying,
    target: &Handle,
    start: u64,
) -> Result<(Made, u64), CopyError> {
    if file.from.attributes.size_bytes == 0 {
        return Ok((Made::Written, 0));
    }
    let about = |error: Error| error.about(&file.to.path);
    let source = Arc::new(Source::open(&file.source, &file.from).await.map_err(about)?);
    let ends = Ends::open(job, file, target).await.map_err(about)?;
    for attempt in 0..=MAX_RESENDS {
        let (safety, parts) = (Safety::default(), JoinSet::new());
        let told_to = if attempt == 0 { start } else { file.from.attributes.size_bytes };
        let copied_to = start;
        let mut pass = Pass { job, file, target, source: &source, ends: &ends, safety, parts, told_to, copied_to };
        let made = pass.run().await?;
        if pass.safety.settle(&job.mount, target).await.map_err(about)? {
            return Ok((made, pass.copied_to));
        }
    }
    Err(CopyError::Lost { path: file.to.path.clone(), times: MAX_RESENDS + 1 })
}

/// Both files, opened, if one server has them and may copy by itself.
struct Ends(Option<(File, File)>);

/// Whether the server may be able to copy the file by itself.
fn may_copy_there(job: &Job, file: &Relaying) -> bool {
    let is_one_server = file.source.is_same(&job.mount) && job.mount.version() == Version::V4_2;
    let ways = &job.ways;
    is_one_server && !(is_known(&ways.is_without_clone) && is_known(&ways.is_without_copy))
}

impl Ends {
    async fn open(job: &Job, file: &Relaying, target: &Handle) -> client_files::Result<Ends> {
        if !may_copy_there(job, file) {
            return Ok(Ends(None));
        }
        let from = file.source.open_handle(&file.from.handle, &OpenOptions::read()).await?;
        let to = job.mount.open_handle(target, &OpenOptions::both()).await?;
        Ok(Ends(Some((from, to))))
    }
}

fn is_known(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

/// Accepts a server's refusal to copy by itself: the data then goes through here, where errors of the file recur.
fn refused(error: Error, is_without: &AtomicBool) -> client_files::Result<()> {
    match error.status() {
        Some(Status::NotSupported) => is_without.store(true, Ordering::Relaxed),
        Some(_) => {}
        None => return Err(error),
    }
    Ok(())
}

/// One pass over a file's data.
struct Pass<'p> {
    job: &'p Arc<Job>,
    file: &'p Relaying,
    target: &'p Handle,
    source: &'p Arc<Source>,
    ends: &'p Ends,
    safety: Safety,
    /// Reads and writes of this machine.
    parts: JoinSet<Result<Safety, CopyError>>,
    /// The end of the bytes already reported as progress. A server's copy that fails may have reported bytes that are
    /// copied again, and a repeated pass copies only such bytes.
    told_to: u64,
    /// Everything before this is copied, or in flight.
    copied_to: u64,
}

impl Pass<'_> {
    async fn run(&mut self) -> Result<Made, CopyError> {
        let size = self.file.from.attributes.size_bytes;
        if self.copied_to == 0 && self.clone_all().await.map_err(|error| self.about(error))? {
            self.copied_to = size;
            return Ok(Made::Cloned);
        }
        while !self.job.halt.is_stopped() && self.copy_next(size).await? {}
        let offset = self.copied_to;
        if self.job.halt.is_stopped() && offset < size {
            return self.wait_for_parts().await;
        }
        if offset < size && self.source.is_cut(size).await.map_err(|error| self.about(error))? {
            return Err(CopyError::Shrank { path: self.file.to.path.clone() });
        }
        self.job.copied(self.untold(offset..size), 0);
        self.copied_to = size;
        self.wait_for_parts().await
    }

    async fn wait_for_parts(&mut self) -> Result<Made, CopyError> {
        while let Some(done) = self.parts.join_next().await {
            self.safety.join(done??);
        }
        Ok(Made::Written)
    }

    /// Copies the next data, or a span of data and holes, and the hole before it. Returns `false` if no data is left.
    async fn copy_next(&mut self, size: u64) -> Result<bool, CopyError> {
        let offset = self.copied_to;
        // A COPY may fill holes, so it gets data only.
        let next = match self.may_copy_there() {
            true => self.source.next_data(offset, size).await,
            false => self.source.next_range(offset, size).await,
        };
        let next = next.map_err(|error| self.about(error))?;
        let Some(data) = next else { return Ok(false) };
        self.job.copied(self.untold(offset..data.start), 0);
        let there = self.copy_there(data.clone()).await.map_err(|error| self.about(error))?;
        self.copied_to = data.start + there;
        self.copy_through_here(data.start + there..data.end).await?;
        Ok(true)
    }

    /// Shares the original's data with CLONE, which leaves nothing unstable. Returns whether the server did it.
    async fn clone_all(&self) -> client_files::Result<bool> {
        let Some((from, to)) = &self.ends.0 else { return Ok(false) };
        if is_known(&self.job.ways.is_without_clone) {
            return Ok(false);
        }
        let size = self.file.from.attributes.size_bytes;
        match to.clone_from(from, 0, 0, size).await {
            Ok(()) => {
                self.job.copied_there(self.untold(0..size));
                Ok(true)
            }
            Err(error) => refused(error, &self.job.ways.is_without_clone).map(|()| false),
        }
    }

    /// Whether both files are on one server, which has not refused a COPY.
    fn may_copy_there(&self) -> bool {
        self.ends.0.is_some() && !is_known(&self.job.ways.is_without_copy)
    }

    /// Lets the server copy a range. Returns how many bytes it copied before it stopped.
    async fn copy_there(&mut self, range: Range<u64>) -> client_files::Result<u64> {
        let Some((from, to)) = &self.ends.0 else { return Ok(0) };
        let mut at = range.start;
        while at < range.end && self.may_copy_there() && !self.job.halt.is_stopped() {
            match self.copy_once(from, to, at, range.end - at).await {
                Ok(copied) if copied.count == 0 => break,
                Ok(copied) => {
                    at += copied.count;
                    self.safety.note_copied(&copied);
                }
                Err(error) => {
                    refused(error, &self.job.ways.is_without_copy)?;
                    break;
                }
            }
        }
        Ok(at - range.start)
    }

    async fn copy_once(&mut self, from: &File, to: &File, at: u64, count: u64) -> client_files::Result<Copied> {
        let (job, mut told_to) = (self.job, self.told_to);
        let mut tell = |done: u64| {
            let end = at + done.min(count);
            job.copied_there(end.saturating_sub(told_to.max(at)));
            told_to = told_to.max(end);
        };
        let copied = match to.begin_copy(from, at, at, count).await {
            // Dropping it cancels it.
            Ok(copying) => tokio::select! {
                copied = copying.end(&mut tell) => copied,
                () = job.halt.stopped() => Ok(Copied::NOTHING),
            },
            Err(error) => Err(error),
        };
        if let Ok(copied) = &copied {
            tell(copied.count);
        }
        self.told_to = told_to;
        copied
    }

    /// Starts reading and writing a range, piece by piece.
    async fn copy_through_here(&mut self, range: Range<u64>) -> Result<(), CopyError> {
        let step = u64::from(self.file.source.sizes().read);
        for start in range.clone().step_by(step as usize) {
            let permit = self.job.transfer().await;
            if self.job.halt.is_stopped() {
                return Ok(());
            }
            let part = Part {
                job: Arc::clone(self.job),
                source: Arc::clone(self.source),
                target: *self.target,
                path: self.file.to.path.clone(),
                told_to: self.told_to,
            };
            let end = range.end.min(start.saturating_add(step));
            self.copied_to = end;
            self.parts.spawn(async move {
                let _permit = permit;
                part.copy(start, end).await
            });
            while let Some(done) = self.parts.try_join_next() {
                self.safety.join(done??);
            }
        }
        Ok(())
    }

    /// How many bytes of a range were not reported before.
    fn untold(&self, range: Range<u64>) -> u64 {
        untold(range, self.told_to)
    }

    fn about(&self, error: Error) -> CopyError {
        error.about(&self.file.to.path).into()
    }
}

/// How many bytes of a range are behind `told_to`.
fn untold(range: Range<u64>, told_to: u64) -> u64 {
    range.end.saturating_sub(range.start.max(told_to))
}

/// A range of a file that goes through this machine.
struct Part {
    job: Arc<Job>,
    source: Arc<Source>,
    target: Handle,
    path: Vec<u8>,
    /// As in [`Pass`].
    told_to: u64,
}

impl Part {
    async fn copy(self, start: u64, end: u64) -> Result<Safety, CopyError> {
        let (mut offset, mut safety) = (start, Safety::default());
        while offset < end {
            let count = u32::try_from(end - offset).unwrap_or(u32::MAX);
            let read = self.source.read(offset, count).await.map_err(|error| error.about(&self.path))?;
            if read.length() == 0 {
                return Err(CopyError::Shrank { path: self.path });
            }
            offset += read.length();
            for segment in read.segments {
                let put = self.put(segment, &mut safety).await;
                put.map_err(|error| error.about(&self.path))?;
            }
        }
        Ok(safety)
    }

    async fn put(&self, segment: Segment, safety: &mut Safety) -> client_files::Result<()> {
        let (offset, length, on_wire) = match &segment {
            Segment::Data { offset, bytes } => (*offset, bytes.len() as u64, bytes.len() as u64),
            Segment::Hole { offset, length } => (*offset, *length, 0),
        };
        if let Segment::Data { offset, bytes } = segment {
            match self.source.has_holes {
                false => self.write(offset, bytes, safety).await?,
                true => {
                    for range in holes::around(&bytes) {
                        self.write(offset + range.start as u64, bytes.slice(range), safety).await?;
                    }
                }
            }
        }
        let untold = untold(offset..offset + length, self.told_to);
        self.job.copied(untold, on_wire.min(untold));
        Ok(())
    }

    async fn write(&self, mut offset: u64, mut bytes: Bytes, safety: &mut Safety) -> client_files::Result<()> {
        let most = self.job.mount.sizes().write as usize;
        while !bytes.is_empty() {
            let piece = bytes.slice(..bytes.len().min(most));
            let written = self.job.mount.write(&self.target, offset, piece, Stability::Unstable).await?;
            safety.note_written(&written);
            offset += u64::from(written.count);
            bytes.advance(written.count as usize);
        }
        Ok(())
    }
}
