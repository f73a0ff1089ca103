//! A benchmark that a signal ends: its jobs stop and remove their files. What they cannot remove is removed here, or
//! named.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::{Pin, pin};
use std::time::Duration;
use std::{fs, io, thread};

use client::{Detail, Follow, Url};
use lab::leftovers::{self, Dir, Leftover};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::failure::{BenchError, Failure, Failures};
use crate::interruption;
use crate::remote::{ConnectFlags, Session, about};
use crate::rm;

/// How long a benchmark waits after a signal while nothing is removed.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// What the jobs return at their end.
pub(super) type Done = oneshot::Receiver<Result<(), BenchError>>;

/// Waits for the jobs, which end soon after a signal.
pub(super) async fn wait(
    connect: &ConnectFlags,
    done: Done,
    stopped: impl Future<Output = Option<i32>>,
) -> Result<(), Failure> {
    let mut done = pin!(done);
    let signal = tokio::select! {
        done = &mut done => return Ok(done.unwrap_or(Err(lab::bench::Error::ThreadDied.into()))?),
        Some(signal) = stopped => signal,
    };
    let why = match end_of(done).await {
        Some(Err(error)) if !error.is_stop() => format!("{error}; "),
        _ => String::new(),
    };
    // What is too late is named below.
    let _ = timeout(STOP_TIMEOUT, remove_left(connect)).await;
    let left = interruption::left_behind().unwrap_or_else(|| "its temporary files are removed".to_owned());
    Err(Failure::Interrupted { signal, left: format!("{why}{left}") })
}

/// What the jobs return, unless nothing is removed for a while.
async fn end_of(mut done: Pin<&mut Done>) -> Option<Result<(), BenchError>> {
    loop {
        let seen = leftovers::progress();
        match timeout(STOP_TIMEOUT, done.as_mut()).await {
            Ok(ended) => return ended.ok(),
            Err(_) if leftovers::progress() != seen => {}
            Err(_) => return None,
        }
    }
}

/// Removes what the jobs have not removed: their connections may hang, or their storage be slow.
async fn remove_left(connect: &ConnectFlags) {
    for leftover in leftovers::all() {
        let is_removed = match &leftover.dir {
            Dir::Local(dir) => remove_local(dir, &leftover).await,
            Dir::Export(url) => remove_remote(url, &leftover, connect).await.is_ok(),
        };
        if is_removed {
            leftovers::forget(&leftover);
        }
    }
}

/// On a thread of its own, since the file system may be one that hangs. Returns whether it was removed.
async fn remove_local(dir: &Path, leftover: &Leftover) -> bool {
    let (sender, removed) = oneshot::channel();
    let (dir, leftover) = (dir.to_owned(), leftover.clone());
    let remove = move || sender.send(remove_here(&dir, &leftover).is_ok());
    thread::Builder::new().name("removal".to_owned()).spawn(remove).is_ok() && removed.await.unwrap_or(false)
}

fn remove_here(dir: &Path, leftover: &Leftover) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            _ if !leftover.has(entry.file_name().as_bytes()) => {}
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

async fn remove_remote(url: &Url, leftover: &Leftover, connect: &ConnectFlags) -> Result<(), Failure> {
    let session = Session::open(url, connect).await?;
    let dir = session.find(Follow::Links).await?;
    let mut listing = session.mount.read_dir(&dir.handle, Detail::Names);
    let mut urls = Vec::new();
    while let Some(found) = listing.next().await.map_err(about(url.to_string()))? {
        if leftover.has(&found.name) {
            let path = Path::new(OsStr::from_bytes(&url.path)).join(OsStr::from_bytes(&found.name));
            urls.push(Url { path: path.into_os_string().into_encoded_bytes(), ..url.clone() });
        }
    }
    let (flags, mut failures) = (rm::Flags::for_trees(urls, connect.clone()), Failures::default());
    rm::remove_all(&flags, &mut failures).await?;
    failures.finish()
}
