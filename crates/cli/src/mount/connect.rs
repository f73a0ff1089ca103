//! Reaching the server, and what keeps the connections going.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use client::{Follow, Mount, RemoteFs};
use tokio::runtime::{Builder, Handle};
use vfs::FileKind;

use super::options::Settings;
use super::place;
use super::source::Source;
use crate::failure::{Failure, MountFailure};
use crate::remote::about;

/// How long to wait before a server that did not answer is asked again.
const PAUSE: Duration = Duration::from_secs(5);

/// A runtime with a thread of its own, for as long as the process lives.
///
/// # Errors
/// When the system gives none.
pub fn start_runtime() -> Result<Handle, Failure> {
    let failed = |source: io::Error| Failure::System { action: "start the client's runtime", source };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(std::future::pending::<()>());
    thread::Builder::new().name("client".to_owned()).spawn(run).map_err(failed)?;
    Ok(handle)
}

/// What is mounted where.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// What.
    pub source: &'a Source,
    /// Where.
    pub dir: &'a Path,
}

/// Connects to the server, again and again for as long as the options say.
///
/// # Errors
/// The last reason why not.
pub fn connect(target: Target<'_>, settings: &Settings, runtime: &Handle) -> Result<Arc<RemoteFs>, Failure> {
    let end = settings.retry.map(|time| Instant::now() + time);
    loop {
        match try_once(target, settings, runtime) {
            Err(failure) if may_pass(&failure, settings) && end.is_some_and(|end| Instant::now() < end) => {
                tracing::warn!("{failure}; trying again");
                thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}

/// Whether another try may help. What a server says, it will say again; one that says nothing may only be starting. A directory may be
/// one of a mount that is still to come (nfs(5), `bg`).
pub fn may_pass(failure: &Failure, settings: &Settings) -> bool {
    match failure {
        Failure::Remote { source, .. } => source.status().is_none(),
        Failure::Local { .. } => settings.is_background,
        _ => false,
    }
}

/// The directory that the URL names, in the export that it is in.
fn try_once(target: Target<'_>, settings: &Settings, runtime: &Handle) -> Result<Arc<RemoteFs>, Failure> {
    place::check(target.dir, &target.source.to_string())?;
    let url = target.source.url();
    let mount = runtime.block_on(Mount::connect(url, &settings.client)).map_err(about(url.to_string()))?;
    let root = runtime.block_on(mount.walk(mount.path_below(), Follow::Links)).map_err(about(url.to_string()))?;
    if root.attributes.kind != FileKind::Directory {
        return Err(MountFailure::NotDirectory(url.to_string()).into());
    }
    Ok(Arc::new(RemoteFs::rooted_at(mount, &root, runtime.clone())))
}
