//! From the server to this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use client_files::Entry;

use super::error::CopyError;
use super::here::Here;
use super::job::Job;
use super::sides::Route;
use super::there::There;
use super::walk::{Step, walk};
use super::{nesting, receive, xattrs};

#[derive(Clone)]

struct Download(There);

pub(super) async fn run(job: &Arc<Job>, from: &[u8], to: &Path) -> Result<(), CopyError> {
    let top = job.mount.walk(from, job.options.look()).await?;
    let name = from.rsplit(|byte| *byte == b'/').find(|part| !part.is_empty()).unwrap_or(b".");
    let there = There(job.mount.clone());
    xattrs::check_origin(job, &there, &top, name).await?;
    nesting::refuse_here(&top.attributes, to).await?;
    let first = Step { from: top, path: name.to_vec(), to: to.to_owned() };
    walk(job, &Download(there), first).await
}

impl Route for Download {
    type Origin = There;
    type Target = Here;

    fn origin(&self) -> &There {
        &self.0
    }

    fn target(&self) -> &Here {
        &Here
    }

    async fn copy(self, job: Arc<Job>, from: Entry, path: Vec<u8>, to: PathBuf) -> Result<PathBuf, CopyError> {
        receive::receive(&job, receive::Receiving { from, path, to: to.clone() }).await?;
        Ok(to)
    }
}
