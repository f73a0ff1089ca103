//! From a server to a server.

use std::sync::Arc;

use client_files::{Entry, Handle, Mount};

use super::error::CopyError;
use super::job::Job;
use super::place::Place;
use super::sides::Route;
use super::there::There;
use super::walk::{Step, walk};
use super::{nesting, relay, xattrs};

#[derive(Clone)]

struct Between {
    source: There,
    target: There,
    is_one_server: bool,
}

pub(super) async fn run(job: &Arc<Job>, source: &Mount, from: &[u8], to: &[u8]) -> Result<(), CopyError> {
    let from = source.walk(from, job.options.look()).await?;
    let to = Place::find(job, to).await?;
    let (origin, target) = (There(source.clone()), There(job.mount.clone()));
    xattrs::check_origin(job, &origin, &from, &to.path).await?;
    xattrs::check_target(job, &target, &to).await?;
    nesting::refuse_there(&from.attributes, &job.mount, &to).await?;
    let is_one_server = source.connection().address().ip() == job.mount.connection().address().ip();
    let route = Between { source: origin, target, is_one_server };
    walk(job, &route, Step { from, path: to.path.clone(), to }).await
}

impl Route for Between {
    type Origin = There;
    type Target = There;

    fn origin(&self) -> &There {
        &self.source
    }

    fn target(&self) -> &There {
        &self.target
    }

    fn is_one_server(&self) -> bool {
        self.is_one_server
    }

    async fn copy(self, job: Arc<Job>, from: Entry, _: Vec<u8>, to: Place) -> Result<Handle, CopyError> {
        let file = relay::Relaying { source: self.source.0, from, to };
        relay::relay(&job, file).await
    }
}
