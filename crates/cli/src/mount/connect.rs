//! Reaching the server, and what keeps the connections going.

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use client::{Mount, RemoteFs, Url};
use tokio::runtime::{Builder, Handle};

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
            Ok(mount) => return Ok(Arc::new(RemoteFs::new(mount, runtime.clone()))),
            // What a server says, it will say again; one that says nothing may only be starting.
            Err(error) if error.status().is_none() && end.is_some_and(|end| Instant::now() < end) => {
                tracing::warn!("{}: {}; trying again", url, error.reason());
                thread::sleep(PAUSE);
            }
            Err(error) => return Err(about(url.to_string())(error)),
        }
    }
}
