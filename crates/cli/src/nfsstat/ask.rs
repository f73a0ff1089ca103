//! Asking the clients of this machine what they have counted.

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

/// How long a client may take to answer, all in all; one that hangs is left out.
const PATIENCE: Duration = Duration::from_secs(5);
/// After how many clients of one user that do not answer in time the others of that user are left out, too.
const MAX_SILENT: usize = 3;
/// The longest answer, in bytes: that of hundreds of mounts that called every procedure.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// How much is read at once, in bytes.
const PIECE_BYTES: usize = 64 << 10;

/// Which mounts are meant.
#[derive(Debug, Clone)]
pub enum Which {
    /// All of this user's; of root's, everybody's.
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
    /// The number of the user whose process that is.
    pub user: u32,
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
                found.extend(meant.map(|mount| Found { pid, user, mount: mount.printable() }));
            }
            Ok(document) => {
                eprintln!("wharf: skipped process {pid}: it runs another version of wharf (format {})", document.format)
            }
            // A socket that is left from a process which was killed has nobody behind it.
            Err(error) => {
                let is_late = matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock);
                *silent.entry(user).or_default() += usize::from(is_late);
                tracing::debug!(pid, %error, "skipped");
            }
        }
    }
    found
}

/// Asks a client, and has it begin anew if that is wanted and it has a mount that is meant.
fn ask_as(socket: &Socket, which: &Which, begin_anew: bool) -> io::Result<Document> {
    let document = ask_one(socket, false)?;
    // What is shown is what is taken away: nothing that is counted between two answers gets lost.
    let is_meant = document.mounts.iter().any(|mount| which.takes(socket.pid, mount));
    if begin_anew && is_meant { ask_one(socket, true) } else { Ok(document) }
}

/// What all of them counted together.
pub fn sum(found: &[Found]) -> Statistics {
    let mut sum = Statistics::default();
    found.iter().for_each(|found| sum.merge(&found.mount.statistics.statistics()));
    sum
}

fn ask_one(socket: &Socket, begin_anew: bool) -> io::Result<Document> {
    let mut stream = dial(&socket.path)?;
    let peer = socket_peercred(&stream)?;
    // Whoever owns the folder can put a way to anybody's socket there.
    if (peer.uid.as_raw(), peer.pid.as_raw_pid()) != (socket.user, socket.pid.cast_signed()) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    if begin_anew {
        stream.write_all(&[ZERO])?;
    }
    stream.shutdown(Shutdown::Write)?;
    Ok(serde_json::from_slice(&read(&mut stream, Instant::now() + PATIENCE)?)?)
}

/// Reads to the end, for no longer than until `end`.
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

/// Connects, for no longer than a client that is alive takes.
fn dial(path: &Path) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}
