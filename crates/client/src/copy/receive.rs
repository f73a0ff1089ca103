//! One file's way from the server: many READs at once, each written where it belongs.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinSet;

use super::job::Job;
use super::{CopyError, Event, LocalError, local, verify};
use crate::{Entry, Handle};

/// What holes are made of: blocks of this many zeros, as most file systems have them.
const HOLE_BYTES: usize = 4096;
/// A block of a hole.
const HOLE: [u8; HOLE_BYTES] = [0; HOLE_BYTES];

/// A file to receive.
pub(super) struct Receiving {
    pub(super) from: Entry,
    pub(super) path: Vec<u8>,
    pub(super) to: PathBuf,
}

pub(super) async fn receive(job: &Arc<Job>, file: Receiving) -> Result<(), CopyError> {
    let (size, to) = (file.from.attributes.size_bytes, file.to.clone());
    let overwrite = job.options.overwrite;
    let target = Arc::new(local::blocking(move || local::create(&to, overwrite)).await?);
    read_all(job, &file, &target).await?;
    let set = job.final_attributes(&file.from.attributes);
    let (to, same) = (file.to.clone(), Arc::clone(&target));
    local::blocking(move || {
        same.set_len(size).map_err(LocalError::wrap(&to, "set the length"))?;
        local::set(&to, &set, false)
    })
    .await?;
    if job.options.verify {
        verify::compare(job, &file.path, (&target, &file.to), (&file.from.handle, size)).await?;
    }
    job.count().files += 1;
    job.tell(Event::Finished { path: &file.path });
    Ok(())
}

async fn read_all(job: &Arc<Job>, file: &Receiving, target: &Arc<File>) -> Result<(), CopyError> {
    let attributes = &file.from.attributes;
    let (size, step) = (attributes.size_bytes, u64::from(job.mount.sizes().read));
    // No READ of these versions tells a hole; a file that takes less than its length has some.
    let has_holes = attributes.used_bytes < size;
    let mut parts = JoinSet::new();
    let mut offset = 0;
    while offset < size {
        let permit = job.transfer().await;
        let part = Part {
            job: Arc::clone(job),
            from: file.from.handle,
            path: file.path.clone(),
            target: Arc::clone(target),
            to: file.to.clone(),
            has_holes,
        };
        let end = size.min(offset + step);
        parts.spawn(async move {
            let _permit = permit;
            part.copy(offset, end).await
        });
        while let Some(done) = parts.try_join_next() {
            done??;
        }
        offset = end;
    }
    while let Some(done) = parts.join_next().await {
        done??;
    }
    Ok(())
}

/// A range of a file.
struct Part {
    job: Arc<Job>,
    from: Handle,
    path: Vec<u8>,
    target: Arc<File>,
    to: PathBuf,
    has_holes: bool,
}

impl Part {
    async fn copy(self, start: u64, end: u64) -> Result<(), CopyError> {
        let mut offset = start;
        while offset < end {
            let count = u32::try_from(end - offset).unwrap_or(u32::MAX);
            let read = self.job.mount.read(&self.from, offset, count).await.map_err(|error| error.about(&self.path))?;
            if read.bytes.is_empty() {
                return Err(CopyError::Shrank { path: self.path });
            }
            let length = read.bytes.len() as u64;
            self.put(offset, read.bytes).await?;
            self.job.copied(length, length);
            offset += length;
        }
        Ok(())
    }

    async fn put(&self, offset: u64, bytes: Bytes) -> Result<(), CopyError> {
        let (target, to, has_holes) = (Arc::clone(&self.target), self.to.clone(), self.has_holes);
        local::blocking(move || {
            let put = if has_holes { put_around_holes } else { put_all };
            put(&target, offset, &bytes).map_err(LocalError::wrap(&to, "write"))
        })
        .await
    }
}

fn put_all(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// Leaves out blocks of zeros; the file is new, so that they read as zeros anyway.
fn put_around_holes(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let mut start = 0;
    while start < bytes.len() {
        let is_hole = |block: &&[u8]| **block == HOLE[..block.len()];
        let blocks = || bytes[start..].chunks(HOLE_BYTES);
        let skipped = blocks().take_while(is_hole).count() * HOLE_BYTES;
        let first = (start + skipped).min(bytes.len());
        let data = bytes[first..].chunks(HOLE_BYTES).take_while(|block| !is_hole(block)).count() * HOLE_BYTES;
        let last = (first + data).min(bytes.len());
        file.write_all_at(&bytes[first..last], offset + first as u64)?;
        start = last;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
