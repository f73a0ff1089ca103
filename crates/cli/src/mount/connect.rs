//! Reaching the server, and what keeps the connections going.

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use client::{Follow, Mount, RemoteFs, Url};
use tokio::runtime::{Builder, Handle};
use vfs::FileKind;

use super::MountFailure;
use super::options::Settings;
use crate::failure::Failure;
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

/// Connects to the server, again and again for as long as the options say.
///
/// # Errors
/// The last reason why not.
pub fn connect(url: &Url, settings: &Settings, runtime: &Handle) -> Result<Arc<RemoteFs>, Failure> {
    let end = settings.retry.map(|time| Instant::now() + time);
    loop {
        match runtime.block_on(Mount::connect(url, &settings.client)) {
            Ok(mount) => return open(mount, url, runtime),
            // What a server says, it will say again; one that says nothing may only be starting.
            Err(error) if error.status().is_none() && end.is_some_and(|end| Instant::now() < end) => {
                tracing::warn!("{}: {}; trying again", url, error.reason());
                thread::sleep(PAUSE);
            }
            Err(error) => return Err(about(url.to_string())(error)),
        }
    }
}

/// The directory that the URL names, in the export that it is in.
fn open(mount: Mount, url: &Url, runtime: &Handle) -> Result<Arc<RemoteFs>, Failure> {
    let root = runtime.block_on(mount.walk(mount.path_below(), Follow::Links)).map_err(about(url.to_string()))?;
    if root.attributes.kind != FileKind::Directory {
        return Err(MountFailure::NotDirectory(url.to_string()).into());
    }
    Ok(Arc::new(RemoteFs::rooted_at(mount, &root, runtime.clone())))
}
