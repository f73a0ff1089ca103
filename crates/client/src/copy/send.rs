//! One file's way to the server: many WRITEs at once, a COMMIT, and all of it again when the server lost unstable bytes.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use vfs::{Attributes, SetAttributes, Stability};

use super::here::Here;
use super::job::Job;
use super::place::Place;
use super::safety::{MAX_RESENDS, Safety};
use super::there::There;
use super::{CopyError, LocalError, local, verify, xattrs};
use crate::Handle;

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
    let target = file.to.create(job).await?;
    let end = write_until_safe(job, &file, &source, &target).await?;
    let mut set = job.final_attributes(&file.attributes);
    // The end is a hole, which no WRITE makes.
    set.size_bytes = (end < file.attributes.size_bytes).then_some(file.attributes.size_bytes);
    if job.options.verify {
        verify_sent(job, &file, &source, &target, &set).await?;
    }
    // Before the mode that may forbid it, and before the time of modification that says that the copy is whole.
    let there = There(job.mount.clone());
    xattrs::keep(job, &file.to.path, (&Here, &file.from), (&there, &target)).await?;
    job.mount.setattr(&target, &set).await.map_err(|error| error.about(&file.to.path))?;
    Ok(target)
}

/// Writes all data until the server has it on stable storage, and says where it ends.
async fn write_until_safe(
    job: &Arc<Job>,
    file: &Sending,
    source: &Arc<File>,
    target: &Handle,
) -> Result<u64, CopyError> {
    for attempt in 0..=MAX_RESENDS {
        let mut pass = Pass::new(job, target, attempt == 0);
        let end = pass.write_all(file, source).await?;
        if pass.safety.settle(&job.mount, target).await.map_err(|error| error.about(&file.to.path))? {
            job.copied(file.attributes.size_bytes.saturating_sub(end), 0);
            return Ok(end);
        }
    }
    Err(CopyError::Lost { path: file.to.path.clone(), times: MAX_RESENDS + 1 })
}

/// One pass over a file's data.
struct Pass {
    job: Arc<Job>,
    target: Handle,
    writes: JoinSet<crate::Result<Safety>>,
    safety: Safety,
    /// Whether this is the first pass, whose bytes are told of.
    counts: bool,
}

impl Pass {
    fn new(job: &Arc<Job>, target: &Handle, counts: bool) -> Pass {
        let job = Arc::clone(job);
        Pass { job, target: *target, writes: JoinSet::new(), safety: Safety::default(), counts }
    }

    async fn write_all(&mut self, file: &Sending, source: &Arc<File>) -> Result<u64, CopyError> {
        let most = self.job.mount.sizes().write as usize;
        let (mut offset, mut end) = (0, 0);
        while offset < file.attributes.size_bytes {
            let permit = self.job.transfer().await;
            let Some((start, bytes)) = self.next(file, source, offset, most).await? else {
                refuse_cut(file, source).await?;
                break;
            };
            let count = bytes.len() as u64;
            if self.counts {
                self.job.copied(start + count - offset, count);
            }
            (offset, end) = (start + count, start + count);
            self.write(start, bytes, offset >= file.attributes.size_bytes && start == 0, permit);
            self.reap().map_err(|error| error.about(&file.to.path))?;
        }
        while let Some(done) = self.writes.join_next().await {
            self.safety.join(done?.map_err(|error| error.about(&file.to.path))?);
        }
        Ok(end)
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

    /// Starts a WRITE. A file of one WRITE is made stable by it; others are by COMMIT.
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

    fn reap(&mut self) -> crate::Result<()> {
        while let Some(done) = self.writes.try_join_next() {
            match done {
                Ok(safety) => self.safety.join(safety?),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
        Ok(())
    }
}

/// Refuses an original that has become shorter: what is missing of it is no hole.
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
    source: &Arc<File>,
    target: &Handle,
    set: &SetAttributes,
) -> Result<(), CopyError> {
    if set.size_bytes.is_some() {
        let size = SetAttributes { size_bytes: set.size_bytes, ..SetAttributes::default() };
        job.mount.setattr(target, &size).await.map_err(|error| error.about(&file.to.path))?;
    }
    verify::compare(job, &file.to.path, (source, &file.from), (target, file.attributes.size_bytes)).await
}
