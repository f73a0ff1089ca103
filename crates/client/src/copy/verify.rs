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
            let same = original.iter().zip(&copy.bytes).take_while(|(a, b)| a == b).count();
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
