//! Receives one file from a server: many READs at once, each written to its place.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use client_files::{Entry, Segment};
use tokio::task::JoinSet;
use vfs::FileKind;

use super::content::Content;
use super::error::{CopyError, LocalError};
use super::here::Here;
use super::job::Job;
use super::options::Event;
use super::resume::{Pair, Readable};
use super::there::There;
use super::xattrs::Holder;
use super::{holes, local, reading, resume, verify, xattrs};

/// A file to receive.
pub(super) struct Receiving {
    pub(super) from: Entry,
    pub(super) path: Vec<u8>,
    pub(super) to: PathBuf,
}

/// Copies a file up to its end, wherever that is by then.
pub(super) async fn receive(job: &Arc<Job>, mut file: Receiving) -> Result<(), CopyError> {
    let there = Content::There(job.mount.clone(), file.from.handle);
    let (target, mut start) = open(job, &file, &there).await?;
    loop {
        let size = file.from.attributes.size_bytes;
        let (received_to, is_end) = read_all(job, &file, &target, start).await?;
        if received_to < size {
            return Err(leave(&file, &target, received_to).await);
        }
        if is_end {
            break;
        }
        // The file may have grown since it was listed.
        let now = job.mount.getattr(&file.from.handle).await.map_err(|error| error.about(&file.path))?;
        if now.size_bytes <= size {
            break;
        }
        start = size;
        file.from.attributes.size_bytes = now.size_bytes;
    }
    let size = file.from.attributes.size_bytes;
    // The mode may forbid this, and the time of modification marks the copy as whole: both are set afterwards.
    let original = Holder { side: &There(job.mount.clone()), file: &file.from.handle };
    xattrs::keep(job, &file.path, original, Holder { side: &Here, file: &file.to }).await?;
    let set = job.final_attributes(&file.from.attributes);
    let (to, same) = (file.to.clone(), Arc::clone(&target));
    let set = local::blocking(move || {
        same.set_len(size).map_err(LocalError::wrap(&to, "set the length"))?;
        local::set(&to, &set, false)
    });
    job.note_owner(set.await?);
    if job.options.verify {
        let copy = Content::Here(target, file.to.clone());
        verify::compare(job, &file.path, &there, &copy, size).await?;
    }
    Ok(())
}

/// The file to copy to, and how many of its first bytes an earlier copy left there. The file is truncated to these.
async fn open(job: &Arc<Job>, file: &Receiving, original: &Content) -> Result<(Arc<File>, u64), CopyError> {
    let (to, resumes, overwrites) = (file.to.clone(), job.options.resume, job.options.overwrite);
    let existing = local::blocking(move || if resumes { local::open_existing(&to) } else { Ok(None) });
    let Some((left, metadata)) = existing.await? else {
        Here.make_way(job, &file.to, FileKind::Regular).await?;
        let to = file.to.clone();
        let made = local::blocking(move || local::create(&to, overwrites)).await?;
        job.tell(Event::Begun { path: &file.path });
        return Ok((Arc::new(made), 0));
    };
    job.tell(Event::Begun { path: &file.path });
    let left = Arc::new(left);
    let content = Content::Here(Arc::clone(&left), file.to.clone());
    let original = Readable { content: original, attributes: &file.from.attributes };
    let copy = Readable { content: &content, attributes: &local::attributes(&metadata) };
    let good = resume::good_bytes(job, &file.path, Pair { original, copy }).await?;
    let (to, same) = (file.to.clone(), Arc::clone(&left));
    local::blocking(move || same.set_len(good).map_err(LocalError::wrap(&to, "set the length"))).await?;
    Ok((left, good))
}

/// Leaves a file so that its copy resumes behind its first `good` bytes. Returns why the copy ends.
async fn leave(file: &Receiving, target: &Arc<File>, good: u64) -> CopyError {
    let Some(set) = resume::checkpoint(&file.from.attributes, good) else { return CopyError::Stopped };
    let (to, target) = (file.to.clone(), Arc::clone(target));
    let left = local::blocking(move || {
        target.set_len(set.size_bytes.unwrap_or(good)).map_err(LocalError::wrap(&to, "set the length"))?;
        local::set(&to, &set, false)
    });
    left.await.err().unwrap_or(CopyError::Stopped)
}

/// Reads everything behind the first `start` bytes. Returns how far it came, which is less than the length if the job
/// was halted, and whether the server said that the file ends there.
async fn read_all(job: &Arc<Job>, file: &Receiving, target: &Arc<File>, start: u64) -> Result<(u64, bool), CopyError> {
    let attributes = &file.from.attributes;
    let (size, step) = (attributes.size_bytes, job.mount.sizes().read as usize);
    let source =
        Arc::new(reading::Source::open(&job.mount, &file.from).await.map_err(|error| error.about(&file.path))?);
    let mut parts = JoinSet::new();
    let mut offset = start;
    let (mut is_halted, mut is_end) = (false, false);
    while !is_halted
        && let Some(range) = source.next_range(offset, size).await.map_err(|error| error.about(&file.path))?
    {
        job.copied(range.start - offset, 0);
        offset = range.end;
        for start in range.clone().step_by(step) {
            let permit = job.transfer().await;
            is_halted = job.halt.is_stopped();
            if is_halted {
                offset = start;
                break;
            }
            let part = Part {
                job: Arc::clone(job),
                source: Arc::clone(&source),
                path: file.path.clone(),
                target: Arc::clone(target),
                to: file.to.clone(),
            };
            let end = range.end.min(start.saturating_add(step as u64));
            parts.spawn(async move {
                let _permit = permit;
                part.copy(start, end).await
            });
            while let Some(done) = parts.try_join_next() {
                is_end |= done??;
            }
        }
    }
    if !is_halted && offset < size && source.is_cut(size).await.map_err(|error| error.about(&file.path))? {
        return Err(CopyError::Shrank { path: file.path.clone() });
    }
    while let Some(done) = parts.join_next().await {
        is_end |= done??;
    }
    if is_halted {
        return Ok((offset, false));
    }
    job.copied(size - offset, 0);
    Ok((size, is_end))
}

/// A range of a file.
struct Part {
    job: Arc<Job>,
    source: Arc<reading::Source>,
    path: Vec<u8>,
    target: Arc<File>,
    to: PathBuf,
}

impl Part {
    /// Returns whether the file ends at `end`.
    async fn copy(self, start: u64, end: u64) -> Result<bool, CopyError> {
        let (mut offset, mut is_end) = (start, false);
        while offset < end {
            let count = u32::try_from(end - offset).unwrap_or(u32::MAX);
            let read = self.source.read(offset, count).await.map_err(|error| error.about(&self.path))?;
            let length = read.length();
            is_end = read.is_eof;
            if length == 0 {
                return Err(CopyError::Shrank { path: self.path });
            }
            let on_wire = data_bytes(&read.segments);
            if on_wire > 0 {
                self.put(read.segments).await?;
            }
            self.job.copied(length, on_wire);
            offset += length;
        }
        Ok(is_end)
    }

    /// Writes the data of one reply.
    async fn put(&self, segments: Vec<Segment>) -> Result<(), CopyError> {
        let (target, to, has_holes) = (Arc::clone(&self.target), self.to.clone(), self.source.has_holes);
        local::blocking(move || {
            let put = if has_holes { put_around_holes } else { put_all };
            data(&segments)
                .try_for_each(|(offset, bytes)| put(&target, offset, bytes))
                .map_err(LocalError::wrap(&to, "write"))
        })
        .await
    }
}

/// The data among segments, each with its offset.
fn data(segments: &[Segment]) -> impl Iterator<Item = (u64, &Bytes)> {
    segments.iter().filter_map(|segment| match segment {
        Segment::Data { offset, bytes } => Some((*offset, bytes)),
        Segment::Hole { .. } => None,
    })
}

fn data_bytes(segments: &[Segment]) -> u64 {
    data(segments).map(|(_, bytes)| bytes.len() as u64).sum()
}

fn put_all(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// Leaves out blocks of zeros; the file is new, so they read as zeros anyway.
fn put_around_holes(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    holes::around(bytes).try_for_each(|range| file.write_all_at(&bytes[range.clone()], offset + range.start as u64))
}

#[cfg(test)]
mod tests {
    use super::super::holes::HOLE_BYTES;
    use super::*;

    #[test]
    fn blocks_of_zeros_are_left_out_and_all_else_is_written() {
        let path = std::env::temp_dir().join(format!("wharf-holes-{}", std::process::id()));
        let file = local::create(&path, true).unwrap();
        let mut bytes = vec![0; 5 * HOLE_BYTES + 100];
        bytes[HOLE_BYTES + 7] = 1;
        bytes[5 * HOLE_BYTES + 99] = 2;
        put_around_holes(&file, 0, &bytes).unwrap();
        assert_eq!(local::read_at(&file, 0, bytes.len() + 1).unwrap(), bytes);
        std::fs::remove_file(&path).unwrap();
    }
}
