//! Connects to the server, and runs the connections.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use client::{CallerRuntime, Follow, Mount, RemoteFs};
use vfs::FileKind;

use super::options::Settings;
use super::place;
use super::source::Source;
use crate::failure::{Failure, MountFailure};
use crate::remote::about;

/// The pause before another attempt to reach the server.
const PAUSE: Duration = Duration::from_secs(5);

/// Starts the runtime of the connections, for the lifetime of the process.
///
/// # Errors
/// When it cannot be started.
pub fn start_runtime() -> Result<Arc<CallerRuntime>, Failure> {
    let failed = |source| Failure::System { action: "start the client's runtime", source };
    CallerRuntime::start().map(Arc::new).map_err(failed)
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
pub fn connect(
    target: Target<'_>,
    settings: &Settings,
    runtime: &Arc<CallerRuntime>,
) -> Result<Arc<RemoteFs>, Failure> {
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
fn try_once(target: Target<'_>, settings: &Settings, runtime: &Arc<CallerRuntime>) -> Result<Arc<RemoteFs>, Failure> {
    place::check(target.dir, &target.source.to_string())?;
    let url = target.source.url();
    let mount = runtime.block_on(Mount::connect(url, &settings.client)).map_err(about(url.to_string()))?;
    let root = runtime.block_on(mount.walk(mount.path_below(), Follow::Links)).map_err(about(url.to_string()))?;
    if root.attributes.kind != FileKind::Directory {
        return Err(MountFailure::NotDirectory(url.to_string()).into());
    }
    Ok(Arc::new(RemoteFs::run_by_callers(mount, &root, Arc::clone(runtime))))
}
