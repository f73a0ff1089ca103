//! From this machine to the server.

use std::path::Path;
use std::sync::Arc;

use client_files::Handle;

use super::error::CopyError;
use super::here::{Here, LocalFile};
use super::job::Job;
use super::place::Place;
use super::sides::{Origin, Route};
use super::there::There;
use super::walk::{Step, walk};
use super::{nesting, send, xattrs};

#[derive(Clone)]

struct Upload(There);

pub(super) async fn run(job: &Arc<Job>, from: &Path, to: &[u8]) -> Result<(), CopyError> {
    let to = Place::find(job, to).await?;
    let there = There(job.mount.clone());
    xattrs::check_target(job, &there, &to).await?;
    let from = LocalFile::top(from, job.options.follow).await?;
    nesting::refuse_there(&Here.attributes_now(&from, b"").await?, &job.mount, &to).await?;
    walk(job, &Upload(there), Step { from, path: to.path.clone(), to }).await
}

impl Route for Upload {
    type Origin = Here;
    type Target = There;

    fn origin(&self) -> &Here {
        &Here
    }

    fn target(&self) -> &There {
        &self.0
    }

    async fn copy(self, job: Arc<Job>, from: LocalFile, _: Vec<u8>, to: Place) -> Result<Handle, CopyError> {
        let file = send::Sending { from: from.path, to, attributes: from.attributes };
        send::send(&job, file).await
    }
}
