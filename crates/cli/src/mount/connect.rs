//! Connects to the server, and runs the connections.

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

/// The pause before another attempt to reach the server.
const PAUSE: Duration = Duration::from_secs(5);

/// Starts a runtime with its own thread, for the lifetime of the process.
///
/// # Errors
/// When it cannot be started.
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

/// Connects to the server, and retries as long as the options say.
///
/// # Errors
/// The last failure.
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

/// Whether another attempt may succeed. A server that answers will repeat its answer; one that does not may be
/// starting. The directory may belong to another mount that is still missing (nfs(5), `bg`).
pub fn may_pass(failure: &Failure, settings: &Settings) -> bool {
    match failure {
        Failure::Remote { source, .. } => source.status().is_none(),
        Failure::Local { .. } => settings.is_background,
        _ => false,
    }
}

/// Opens the directory of the URL in its export.
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
