//! Compares two files byte by byte.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use client_files::{Handle, Mount};
use tokio::task::JoinSet;

use super::error::{CopyError, LocalError};
use super::job::Job;
use super::local;

/// A file to compare with another.
#[derive(Clone)]
pub(super) enum Content {
    Here(Arc<File>, PathBuf),
    There(Mount, Handle),
}

impl Content {
    /// Reads `count` bytes, or fewer where the file ends.
    async fn read(&self, path: &[u8], offset: u64, count: u32) -> Result<Bytes, CopyError> {
        match self {
            Content::Here(file, name) => {
                let (file, name) = (Arc::clone(file), name.clone());
                let read = move || local::read_at(&file, offset, count as usize);
                local::blocking(move || read().map_err(LocalError::wrap(&name, "read"))).await
            }
            Content::There(mount, file) => {
                let read = read_there(mount, file, offset, count).await;
                Ok(read.map_err(|error| error.about(path))?)
            }
        }
    }

    /// How many bytes are read at once.
    fn step(&self, job: &Job) -> u32 {
        match self {
            Content::Here(..) => job.mount.sizes().read,
            Content::There(mount, _) => mount.sizes().read,
        }
    }
}

async fn read_there(mount: &Mount, file: &Handle, offset: u64, count: u32) -> client_files::Result<Bytes> {
    let first = mount.read(file, offset, count).await?;
    if first.is_eof || first.bytes.is_empty() || first.bytes.len() >= count as usize {
        return Ok(first.bytes);
    }
    let mut bytes = BytesMut::from(&first.bytes[..]);
    while bytes.len() < count as usize {
        let read = mount.read(file, offset + bytes.len() as u64, count - bytes.len() as u32).await?;
        bytes.extend_from_slice(&read.bytes);
        if read.is_eof || read.bytes.is_empty() {
            break;
        }
    }
    Ok(bytes.freeze())
}

/// The first offset in `range` where two files differ, if any. A file that ends where the other goes on differs there.
pub(super) async fn first_difference(
    job: &Arc<Job>,
    path: &[u8],
    a: &Content,
    b: &Content,
    range: Range<u64>,
) -> Result<Option<u64>, CopyError> {
    let step = a.step(job).min(b.step(job));
    let (mut pieces, mut first) = (JoinSet::new(), None);
    for offset in range.clone().step_by(step as usize) {
        let permit = job.transfer().await;
        let count = step.min(u32::try_from(range.end - offset).unwrap_or(u32::MAX));
        let (a, b, path) = (a.clone(), b.clone(), path.to_vec());
        pieces.spawn(async move {
            let _permit = permit;
            let (a, b) = tokio::try_join!(a.read(&path, offset, count), b.read(&path, offset, count))?;
            let same = equal_bytes(&a, &b);
            Ok::<_, CopyError>((same < a.len().max(b.len())).then_some(offset + same as u64))
        });
        while let Some(done) = pieces.try_join_next() {
            first = earlier(first, done??);
        }
        // All pieces before one that differs are in flight already.
        if first.is_some() {
            break;
        }
    }
    while let Some(done) = pieces.join_next().await {
        first = earlier(first, done??);
    }
    Ok(first)
}

fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// The length of the common start. Equal slices, the usual case, are compared as a whole.
fn equal_bytes(a: &[u8], b: &[u8]) -> usize {
    let shorter = a.len().min(b.len());
    if a[..shorter] == b[..shorter] {
        return shorter;
    }
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_difference_is_found_and_the_shorter_slice_decides() {
        assert_eq!(equal_bytes(b"abcd", b"abcd"), 4);
        assert_eq!(equal_bytes(b"abcd", b"abXd"), 2);
        assert_eq!(equal_bytes(b"abcd", b"ab"), 2);
        assert_eq!(equal_bytes(b"", b"ab"), 0);
        assert_eq!((earlier(Some(7), Some(3)), earlier(None, Some(3)), earlier(None, None)), (Some(3), Some(3), None));
    }
}
