//! Sends one file to a server: many WRITEs at once, a COMMIT, and all of it again if the server lost unstable data.

use std::fs::File;
use std::ops::Range;
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
use super::local::{self, Piece};
use super::place::Place;
use super::resume::Readable;
use super::safety::{MAX_RESENDS, Safety};
use super::there::There;
use super::xattrs::Holder;
use super::{resume, verify, xattrs};

/// A file to send.
pub(super) struct Sending {
    pub(super) from: PathBuf,
    pub(super) to: Place,
    pub(super) attributes: Attributes,
}

/// Copies a file up to its end, wherever that is by then.
pub(super) async fn send(job: &Arc<Job>, mut file: Sending) -> Result<Handle, CopyError> {
    let from = file.from.clone();
    let (source, attributes) = local::blocking(move || local::open_source(&from)).await?;
    file.attributes = attributes;
    let source = Arc::new(source);
    let content = Content::Here(Arc::clone(&source), file.from.clone());
    let (target, start) = file.to.open(job, Some(Readable { content: &content, attributes: &file.attributes })).await?;
    let way = Way { job, file: &file, source: &source, target: &target, start };
    let written = way.write_until_safe().await?;
    if !written.is_complete {
        return Err(file.to.leave(job, &target, resume::checkpoint(&file.attributes, written.sent_to)).await);
    }
    let size = written.sent_to;
    file.attributes.size_bytes = size;
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
    there.set_final(job, &file.to.path, &target, &set).await?;
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
    /// Everything before this is at the server.
    sent_to: u64,
    /// The end of the last data; a hole may follow.
    data_end: u64,
    /// Whether that is all of the file, because the job was not halted.
    is_complete: bool,
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
        let (file, source) = (way.file, way.source);
        let mut size = file.attributes.size_bytes;
        let mut sent = Sent { sent_to: way.start, data_end: way.start, is_complete: false };
        while !sent.is_complete && !self.job.halt.is_stopped() {
            let permit = self.job.transfer().await;
            let Some(Piece { offset, bytes, is_last }) = self.next(file, source, sent.sent_to..size).await? else {
                let length = length_now(file, source).await?;
                if length <= size {
                    sent.sent_to = sent.sent_to.max(size);
                    sent.is_complete = true;
                }
                size = length;
                continue;
            };
            let end = offset + bytes.len() as u64;
            if self.counts {
                self.job.copied(end - sent.sent_to, bytes.len() as u64);
            }
            sent = Sent { sent_to: end, data_end: end, is_complete: is_last };
            self.write(offset, bytes, is_last && offset == 0, permit);
            self.reap().map_err(|error| error.about(&file.to.path))?;
        }
        while let Some(done) = self.writes.join_next().await {
            self.safety.join(done?.map_err(|error| error.about(&file.to.path))?);
        }
        Ok(sent)
    }

    async fn next(&self, file: &Sending, source: &Arc<File>, rest: Range<u64>) -> Result<Option<Piece>, CopyError> {
        let (source, from, most) = (Arc::clone(source), file.from.clone(), self.job.mount.sizes().write as usize);
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

/// The length of the original. One that has become shorter is refused: what is missing is not a hole.
async fn length_now(file: &Sending, source: &Arc<File>) -> Result<u64, CopyError> {
    let (source, from) = (Arc::clone(source), file.from.clone());
    let look = move || source.metadata().map_err(LocalError::wrap(&from, "look at"));
    let length = local::blocking(look).await?.len();
    match length < file.attributes.size_bytes {
        true => Err(CopyError::Shrank { path: file.to.path.clone() }),
        false => Ok(length),
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
