//! Collects the statistics of the clients on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use client::Statistics;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde::Serialize;

use super::document::{Document, FORMAT, MountFigures};
use super::folder::{self, Socket};
use super::publish::ZERO;

/// The time limit for all answers; a client that hangs is left out.
const PATIENCE: Duration = Duration::from_secs(5);
/// After this many silent clients of one user, that user's other clients are left out, too.
const MAX_SILENT: usize = 3;
/// The maximum size of an answer, in bytes: enough for hundreds of mounts that called every procedure.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// The size of a read, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Which mounts are meant.
#[derive(Debug, Clone)]
pub enum Which {
    /// All of this user's; for root, all of all users'.
    All,
    /// Those of one process.
    Process(u32),
    /// The one on this directory.
    On(String),
}

/// A mount and the process that it belongs to.
#[derive(Debug, Clone, Serialize)]
pub struct FoundMount {
    pub pid: u32,
    /// The user of that process.
    pub user: u32,
    #[serde(flatten)]
    pub mount: MountFigures,
}

impl Which {
    /// Parses a process ID or a mount point.
    pub fn parse(text: &str) -> Which {
        if let Ok(pid) = text.parse() {
            return Which::Process(pid);
        }
        // The daemon has made its path absolute, too.
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

/// Asks all selected clients. Leaves out those that do not answer.
pub fn ask(which: &Which, begin_anew: bool) -> Vec<FoundMount> {
    let (mut found, mut silent) = (Vec::new(), BTreeMap::<u32, usize>::new());
    for socket in folder::sockets() {
        let Socket { pid, user, .. } = socket;
        let is_left_out = silent.get(&user).is_some_and(|count| *count >= MAX_SILENT);
        if is_left_out || matches!(which, Which::Process(wanted) if pid != *wanted) {
            continue;
        }
        match ask_as(&socket, which, begin_anew) {
            Ok(document) if document.format == FORMAT => {
                let meant = document.mounts.into_iter().filter(|mount| which.takes(pid, mount));
                found.extend(meant.map(|mount| FoundMount { pid, user, mount: mount.printable() }));
            }
            Ok(document) => {
                eprintln!("wharf: skipped process {pid}: it runs another version of wharf (format {})", document.format)
            }
            // A killed process leaves a socket that nobody listens on.
            Err(error) => {
                let is_late = matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock);
                *silent.entry(user).or_default() += usize::from(is_late);
                tracing::debug!(pid, %error, "skipped");
            }
        }
    }
    found
}

/// Asks a client. Resets its counters if requested and it has a selected mount.
fn ask_as(socket: &Socket, which: &Which, begin_anew: bool) -> io::Result<Document> {
    let document = ask_one(socket, false)?;
    // The reset subtracts the counts in the answer, so that none is lost.
    let is_meant = document.mounts.iter().any(|mount| which.takes(socket.pid, mount));
    if begin_anew && is_meant { ask_one(socket, true) } else { Ok(document) }
}

/// The sum of all counters.
pub fn sum(found: &[FoundMount]) -> Statistics {
    let mut sum = Statistics::default();
    found.iter().for_each(|found| sum.merge(&found.mount.statistics.statistics()));
    sum
}

fn ask_one(socket: &Socket, begin_anew: bool) -> io::Result<Document> {
    let mut stream = dial(&socket.path)?;
    let peer = socket_peercred(&stream)?;
    // The owner of the folder could link to another user's socket.
    if (peer.uid.as_raw(), peer.pid.as_raw_pid()) != (socket.user, socket.pid.cast_signed()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    if begin_anew {
        stream.write_all(&[ZERO])?;
    }
    stream.shutdown(Shutdown::Write)?;
    Ok(serde_json::from_slice(&read(&mut stream, Instant::now() + PATIENCE)?)?)
}

/// Reads to the end, at most until `end`.
fn read(stream: &mut UnixStream, end: Instant) -> io::Result<Vec<u8>> {
    let (mut text, mut piece) = (Vec::new(), vec![0; PIECE_BYTES]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => return Ok(text),
            count if text.len() + count > MAX_ANSWER_BYTES => return Err(io::ErrorKind::FileTooLarge.into()),
            count => text.extend_from_slice(&piece[..count]),
        }
    }
}

/// Connects within the time that a live client takes.
fn dial(path: &Path) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}
