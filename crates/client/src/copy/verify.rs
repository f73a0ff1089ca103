//! Reading a copy back and comparing it with its original, byte by byte.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::job::Job;
use super::{CopyError, LocalError, local};
use crate::{Handle, Mount};

/// Compares a file of this machine with one of `size` bytes on the server.
pub(super) async fn compare(
    job: &Arc<Job>,
    path: &[u8],
    (local, name): (&Arc<File>, &Path),
    (remote, size): (&Handle, u64),
) -> Result<(), CopyError> {
    let step = u64::from(job.mount.sizes().read);
    let mut parts = JoinSet::new();
    let mut offset = 0;
    // One part more than there is data: it sees that both files end where they should.
    while offset <= size {
        let permit = job.transfer().await;
        let part = Part {
            mount: job.mount.clone(),
            local: Arc::clone(local),
            name: name.to_owned(),
            remote: *remote,
            path: path.to_vec(),
            range: (offset, step as usize),
        };
        parts.spawn(async move {
            let _permit = permit;
            part.compare().await
        });
        while let Some(done) = parts.try_join_next() {
            done??;
        }
        offset += step;
    }
    while let Some(done) = parts.join_next().await {
        done??;
    }
    Ok(())
}

/// Compares two files of `size` bytes on servers.
pub(super) async fn compare_remote(
    job: &Arc<Job>,
    path: &[u8],
    (original, copy): ((&Mount, &Handle), (&Mount, &Handle)),
    size: u64,
) -> Result<(), CopyError> {
    let step = job.mount.sizes().read.min(original.0.sizes().read);
    let mut parts = JoinSet::new();
    for offset in (0..size).step_by(step as usize) {
        let permit = job.transfer().await;
        let count = step.min(u32::try_from(size - offset).unwrap_or(u32::MAX));
        let (original, copy) = ((original.0.clone(), *original.1), (copy.0.clone(), *copy.1));
        let path = path.to_vec();
        parts.spawn(async move {
            let _permit = permit;
            let first = whole(&original, offset, count).await.map_err(|e| e.about(&path))?;
            let second = whole(&copy, offset, count).await.map_err(|e| e.about(&path))?;
            let same = equal_bytes(&first, &second);
            let is_same = same == count as usize && first.len() == second.len();
            if is_same { Ok(()) } else { Err(CopyError::Differs { path, offset: offset + same as u64 }) }
        });
        while let Some(done) = parts.try_join_next() {
            done??;
        }
    }
    while let Some(done) = parts.join_next().await {
        done??;
    }
    Ok(())
}

/// Reads `count` bytes, or fewer where the file ends.
async fn whole((mount, file): &(Mount, Handle), offset: u64, count: u32) -> crate::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < count as usize {
        let read = mount.read(file, offset + bytes.len() as u64, count - bytes.len() as u32).await?;
        bytes.extend_from_slice(&read.bytes);
        if read.is_eof || read.bytes.is_empty() {
            break;
        }
    }
    Ok(bytes)
}

struct Part {
    mount: Mount,
    local: Arc<File>,
    name: std::path::PathBuf,
    remote: Handle,
    path: Vec<u8>,
    range: (u64, usize),
}

impl Part {
    async fn compare(self) -> Result<(), CopyError> {
        let (offset, length) = self.range;
        let (file, name) = (self.local, self.name);
        let original =
            local::blocking(move || local::read_at(&file, offset, length).map_err(LocalError::wrap(&name, "read")));
        let mut original = original.await?;
        let mut place = offset;
        loop {
            let want = u32::try_from(offset + length as u64 - place).unwrap_or(u32::MAX);
            let copy = self.mount.read(&self.remote, place, want.max(1)).await.map_err(|e| e.about(&self.path))?;
            let same = equal_bytes(&original, &copy.bytes);
            let is_short = copy.is_eof && copy.bytes.len() < original.len();
            if same < copy.bytes.len().min(original.len()) || copy.bytes.len() > original.len() || is_short {
                return Err(CopyError::Differs { path: self.path, offset: place + same as u64 });
            }
            original = original.slice(same..);
            place += same as u64;
            if original.is_empty() || copy.is_eof {
                return Ok(());
            }
        }
    }
}

/// How many bytes both begin with. Equal slices, which is what there mostly is, are compared as a whole.
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
    }
}
