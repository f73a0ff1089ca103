//! Publishes the statistics of this process's mounts on a socket.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use client::{Meter, Mount, Statistics};

use super::document::{Document, FORMAT, Figures, MountFigures};
use super::{folder, options};

/// The time limit for a reader to send its request and to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// A request to reset the counters after the answer.
pub const ZERO: u8 = b'z';

/// The published mounts, until this is dropped.
#[derive(Debug)]
pub struct Publication {
    shared: Arc<Shared>,
    socket: PathBuf,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    sources: Mutex<Vec<Source>>,
    is_over: AtomicBool,
}

/// One mount.
#[derive(Debug)]
struct Source {
    from: String,
    on: String,
    options: String,
    meter: Meter,
    /// The counters at the last reset.
    zero: Statistics,
}

/// Publishes the statistics of one mount. `on` is its directory, or the command that uses it.
///
/// # Errors
/// Those of the system for the socket.
pub fn publish(mount: &Mount, on: &str) -> io::Result<Publication> {
    let publication = Publication::start()?;
    publication.add(mount, on);
    Ok(publication)
}

impl Publication {
    /// Starts without mounts.
    ///
    /// # Errors
    /// Those of the system for the socket.
    pub fn start() -> io::Result<Publication> {
        let folder = folder::for_publishing()?;
        folder::remove_stale(&folder);
        Publication::start_at(&folder::socket(&folder, std::process::id()))
    }

    fn start_at(socket: &Path) -> io::Result<Publication> {
        // An earlier process with the same ID may have left it.
        match std::fs::remove_file(socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(socket)?;
        let shared: Arc<Shared> = Arc::default();
        let answering = Arc::clone(&shared);
        let thread = thread::Builder::new().name("nfsstat".to_owned()).spawn(move || answering.run(&listener))?;
        Ok(Publication { shared, socket: socket.to_owned(), thread: Some(thread) })
    }

    /// Adds a mount, without keeping it alive.
    pub fn add(&self, mount: &Mount, on: &str) {
        let source = Source {
            from: format!("{}:{}", mount.server(), String::from_utf8_lossy(mount.export())),
            on: on.to_owned(),
            options: options::text(mount),
            meter: mount.meter(),
            zero: Statistics::default(),
        };
        let mut sources = self.shared.sources();
        sources.retain(|source| !source.meter.is_over());
        sources.push(source);
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        // Wakes the thread, which waits for a connection.
        let is_awake = UnixStream::connect(&self.socket).is_ok();
        // A concurrent reader of the folder skips a missing socket.
        let _ = std::fs::remove_file(&self.socket);
        if let (true, Some(thread)) = (is_awake, self.thread.take()) {
            // A panic was already reported.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn sources(&self) -> MutexGuard<'_, Vec<Source>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers connections one after the other.
    fn run(&self, listener: &UnixListener) {
        for stream in listener.incoming() {
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            let answered = match stream {
                Ok(stream) => self.answer(stream),
                // Descriptors are exhausted for now, or the peer has gone.
                Err(error) => {
                    thread::sleep(PATIENCE / 10);
                    Err(error)
                }
            };
            if let Err(error) = answered {
                tracing::debug!(%error, "nobody took the statistics");
            }
        }
    }

    fn answer(&self, mut stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut wanted = [0];
        let begins_anew = stream.read(&mut wanted)? == 1 && wanted[0] == ZERO;
        let mut text = serde_json::to_vec(&self.document(begins_anew))?;
        text.push(b'\n');
        stream.write_all(&text)
    }

    fn document(&self, begins_anew: bool) -> Document {
        let figures = |source: &mut Source| {
            let now = source.meter.statistics();
            let statistics = Figures::from(&now.since(&source.zero));
            if begins_anew {
                source.zero = now;
            }
            let Source { from, on, options, .. } = source;
            MountFigures { from: from.clone(), on: on.clone(), options: options.clone(), statistics }
        };
        let mounts = self.sources().iter_mut().map(figures).collect();
        Document { format: FORMAT, pid: std::process::id(), mounts }
    }
}
