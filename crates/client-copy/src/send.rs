//! Sends one file to a server: many WRITEs at once, a COMMIT, and all of it again if the server lost unstable data.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use client_files::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use vfs::{Attributes, SetAttributes, Stability};

use super::content::Content;
use super::error::{CopyError, LocalError};
use super::here::Here;
use super::job::Job;
use super::place::Place;
use super::resume::Readable;
use super::safety::{MAX_RESENDS, Safety};
use super::there::There;
use super::xattrs::Holder;
use super::{local, resume, verify, xattrs};

/// A file to send.
pub(super) struct Sending {
    pub(super) from: PathBuf,
    pub(super) to: Place,
    pub(super) attributes: Attributes,
}

pub(super) async fn send(job: &Arc<Job>, file: Sending) -> Result<Handle, CopyError> {
    let from = file.from.clone();
    let open = move || File::open(&from).map_err(LocalError::wrap(&from, "open"));
    let source = Arc::new(local::blocking(open).await?);
    let content = Content::Here(Arc::clone(&source), file.from.clone());
    let (target, start) = file.to.open(job, Some(Readable { content: &content, attributes: &file.attributes })).await?;
    let way = Way { job, file: &file, source: &source, target: &target, start };
    let written = way.write_until_safe().await?;
    let size = file.attributes.size_bytes;
    if written.sent_to < size {
        return Err(file.to.leave(job, &target, resume::checkpoint(&file.attributes, written.sent_to)).await);
    }
    let mut set = job.final_attributes(&file.attributes);
    // The end is a hole, which no WRITE makes.
    set.size_bytes = (written.data_end < size).then_some(size);
    if job.options.verify {
        verify_sent(job, &file, &content, &target, &set).await?;
    }
    // The mode may forbid this, and the time of modification marks the copy as whole: both are set afterwards.
    let there = There(job.mount.clone());
    let original = Holder { side: &Here, file: &file.from };
    xattrs::keep(job, &file.to.path, original, Holder { side: &there, file: &target }).await?;
    job.mount.setattr(&target, &set).await.map_err(|error| error.about(&file.to.path))?;
    Ok(target)
}

/// From where to where a file is sent.
struct Way<'w> {
    job: &'w Arc<Job>,
    file: &'w Sending,
    source: &'w Arc<File>,
    target: &'w Handle,
    /// The offset of the first byte that the server does not have yet.
    start: u64,
}

/// How far a file was sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// Everything before this is at the server: less than the file's length if the job was halted.
    sent_to: u64,
    /// The end of the last data; a hole may follow.
    data_end: u64,
}

impl Way<'_> {
    /// Writes all data until the server has it on stable storage.
    async fn write_until_safe(&self) -> Result<Sent, CopyError> {
        let Way { job, file, target, .. } = self;
        for attempt in 0..=MAX_RESENDS {
            let mut pass = Pass::new(job, target, attempt == 0);
            let sent = pass.write_all(self).await?;
            if pass.safety.settle(&job.mount, target).await.map_err(|error| error.about(&file.to.path))? {
                job.copied(sent.sent_to.saturating_sub(sent.data_end), 0);
                return Ok(sent);
            }
        }
        Err(CopyError::Lost { path: file.to.path.clone(), times: MAX_RESENDS + 1 })
    }
}

/// One pass over a file's data.
struct Pass {
    job: Arc<Job>,
    target: Handle,
    writes: JoinSet<client_files::Result<Safety>>,
    safety: Safety,
    /// Whether this is the first pass, whose bytes are reported as progress.
    counts: bool,
}

impl Pass {
    fn new(job: &Arc<Job>, target: &Handle, counts: bool) -> Pass {
        let job = Arc::clone(job);
        Pass { job, target: *target, writes: JoinSet::new(), safety: Safety::default(), counts }
    }

    async fn write_all(&mut self, way: &Way<'_>) -> Result<Sent, CopyError> {
        let (file, source, size) = (way.file, way.source, way.file.attributes.size_bytes);
        let most = self.job.mount.sizes().write as usize;
        let mut sent = Sent { sent_to: way.start, data_end: way.start };
        while sent.sent_to < size && !self.job.halt.is_stopped() {
            let permit = self.job.transfer().await;
            let Some((start, bytes)) = self.next(file, source, sent.sent_to, most).await? else {
                refuse_cut(file, source).await?;
                sent.sent_to = size;
                break;
            };
            let end = start + bytes.len() as u64;
            if self.counts {
                self.job.copied(end - sent.sent_to, bytes.len() as u64);
            }
            sent = Sent { sent_to: end, data_end: end };
            self.write(start, bytes, end >= size && start == 0, permit);
            self.reap().map_err(|error| error.about(&file.to.path))?;
        }
        while let Some(done) = self.writes.join_next().await {
            self.safety.join(done?.map_err(|error| error.about(&file.to.path))?);
        }
        Ok(sent)
    }

    async fn next(
        &self,
        file: &Sending,
        source: &Arc<File>,
        offset: u64,
        most: usize,
    ) -> Result<Option<(u64, Bytes)>, CopyError> {
        let (source, from, rest) = (Arc::clone(source), file.from.clone(), offset..file.attributes.size_bytes);
        local::blocking(move || local::next_data(&source, rest, most).map_err(LocalError::wrap(&from, "read"))).await
    }

    /// Starts a WRITE. The only WRITE of a file goes to stable storage; a COMMIT follows several.
    fn write(&mut self, offset: u64, bytes: Bytes, is_all: bool, permit: Option<OwnedSemaphorePermit>) {
        let (mount, target) = (self.job.mount.clone(), self.target);
        let stability = if is_all { Stability::File } else { Stability::Unstable };
        self.writes.spawn(async move {
            let _permit = permit;
            let (mut offset, mut bytes) = (offset, bytes);
            let mut safety = Safety::default();
            while !bytes.is_empty() {
                let written = mount.write(&target, offset, bytes.clone(), stability).await?;
                offset += u64::from(written.count);
                bytes.advance(written.count as usize);
                safety.note_written(&written);
            }
            Ok(safety)
        });
    }

    fn reap(&mut self) -> client_files::Result<()> {
        while let Some(done) = self.writes.try_join_next() {
            match done {
                Ok(safety) => self.safety.join(safety?),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        Ok(())
    }
}

/// Refuses an original that has become shorter: what is missing is not a hole.
async fn refuse_cut(file: &Sending, source: &Arc<File>) -> Result<(), CopyError> {
    let (source, from) = (Arc::clone(source), file.from.clone());
    let look = move || source.metadata().map_err(LocalError::wrap(&from, "look at"));
    match local::blocking(look).await?.len() < file.attributes.size_bytes {
        true => Err(CopyError::Shrank { path: file.to.path.clone() }),
        false => Ok(()),
    }
}

async fn verify_sent(
    job: &Arc<Job>,
    file: &Sending,
    source: &Content,
    target: &Handle,
    set: &SetAttributes,
) -> Result<(), CopyError> {
    if set.size_bytes.is_some() {
        let size = SetAttributes { size_bytes: set.size_bytes, ..SetAttributes::default() };
        job.mount.setattr(target, &size).await.map_err(|error| error.about(&file.to.path))?;
    }
    let copy = Content::There(job.mount.clone(), *target);
    verify::compare(job, &file.to.path, source, &copy, file.attributes.size_bytes).await
}
