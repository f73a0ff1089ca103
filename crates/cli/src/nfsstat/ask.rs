//! Asking the clients of this machine what they have counted.

use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use client::Statistics;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde::Serialize;

use super::document::{Document, FORMAT, MountFigures};
use super::folder;
use super::publish::ZERO;

/// How long a client may take to answer; one that hangs is left out.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer, in bytes: that of a thousand mounts that called every procedure.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// Which mounts are meant.
#[derive(Debug, Clone)]
pub enum Which {
    /// All of this user's.
    All,
    /// Those of one process.
    Process(u32),
    /// The one on this directory.
    On(String),
}

/// A mount and the process that it belongs to.
#[derive(Debug, Clone, Serialize)]
pub struct Found {
    pub pid: u32,
    #[serde(flatten)]
    pub mount: MountFigures,
}

impl Which {
    /// Reads what a user says: the number of a process, or a mount point.
    pub fn parse(text: &str) -> Which {
        if let Ok(pid) = text.parse() {
            return Which::Process(pid);
        }
        // The daemon made the path absolute too.
        let path = fs::canonicalize(text).or_else(|_| std::path::absolute(text));
        Which::On(path.map_or(text.to_owned(), |path| path.to_string_lossy().into_owned()))
    }

    fn takes(&self, pid: u32, mount: &MountFigures) -> bool {
        match self {
            Which::All => true,
            Which::Process(wanted) => pid == *wanted,
            Which::On(wanted) => mount.on == *wanted,
        }
    }
}

/// Asks all clients that are meant. Those that do not answer are left out.
pub fn ask(which: &Which, begin_anew: bool) -> Vec<Found> {
    let mut found = Vec::new();
    for (pid, socket) in folder::sockets() {
        if matches!(which, Which::Process(wanted) if pid != *wanted) {
            continue;
        }
        let is_meant = |document: &Document| document.mounts.iter().any(|mount| which.takes(pid, mount));
        let answer = match ask_one(&socket, false) {
            // What is shown is what is taken away: nothing that is counted between two answers gets lost.
            Ok(document) if begin_anew && is_meant(&document) => ask_one(&socket, true),
            answer => answer,
        };
        match answer {
            Ok(document) if document.format == FORMAT => {
                let meant = document.mounts.into_iter().filter(|mount| which.takes(pid, mount));
                found.extend(meant.map(|mount| Found { pid, mount }));
            }
            Ok(document) => eprintln!("wharf: process {pid} is of another version (format {})", document.format),
            // A socket that is left from a process which was killed has nobody behind it.
            Err(error) => tracing::debug!(pid, %error, "skipped"),
        }
    }
    found
}

/// What all of them counted together.
pub fn sum(found: &[Found]) -> Statistics {
    let mut sum = Statistics::default();
    found.iter().for_each(|found| sum.merge(&found.mount.statistics.statistics()));
    sum
}

fn ask_one(socket: &Path, begin_anew: bool) -> io::Result<Document> {
    let mut stream = dial(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    if begin_anew {
        stream.write_all(&[ZERO])?;
    }
    stream.shutdown(Shutdown::Write)?;
    let mut text = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Connects, for no longer than a client that is alive takes.
fn dial(path: &Path) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}
