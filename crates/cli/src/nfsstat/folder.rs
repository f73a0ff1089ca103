//! The folder of sockets through which clients publish statistics. Only its user and root can enter it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, geteuid, test_kill_process};

/// The prefix and suffix of socket names. Between them are the process ID and the number of its PID namespace, because
/// containers that share the folder may have equal process IDs.
const PREFIX: &str = "nfsstat-";
const SUFFIX: &str = ".sock";
/// The environment variable with the only folder to use.
const ONLY_FOLDER: &str = "WHARF_RUNTIME_DIR";
/// The maximum number of sockets per folder.
const MAX_SOCKETS: usize = 4096;
/// The age from which a socket of another PID namespace counts as stale. A newer one may not answer yet.
const MIN_STALE_AGE: Duration = Duration::from_secs(60);

/// The places of users' folders, for root: names end with the user ID, and `WITHIN` is the folder in the first place.
const SESSIONS: &str = "/run/user";
const WITHIN: &str = "wharf";
const TEMPORARY: &str = "/tmp";
const TEMPORARY_PREFIX: &str = "wharf-";
/// The maximum number of users that root searches.
const MAX_USERS: usize = 4096;

/// A folder of sockets, and its required owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Folder {
    path: PathBuf,
    user: u32,
}

/// A client's socket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Socket {
    /// The process behind it, if it is running.
    pub pid: u32,
    /// The required user of the process.
    pub user: u32,
    pub path: PathBuf,
}

/// The possible folders of this user, best first.
fn candidates() -> Vec<Folder> {
    let user = geteuid();
    let own = |path: PathBuf| Folder { path, user: user.as_raw() };
    if let Some(only) = std::env::var_os(ONLY_FOLDER) {
        return vec![own(only.into())];
    }
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let mut folders: Vec<Folder> = session.map(|dir| own(dir.join(WITHIN))).into_iter().collect();
    if user.is_root() {
        folders.push(own("/run/wharf".into()));
    }
    folders.push(own(Path::new(TEMPORARY).join(format!("{TEMPORARY_PREFIX}{}", user.as_raw()))));
    folders
}

/// The folders of all clients that this user may ask; root may ask all.
fn visible() -> Vec<Folder> {
    let mut folders = candidates();
    if geteuid().is_root() && std::env::var_os(ONLY_FOLDER).is_none() {
        let of_users = |parent: &str, prefix: &str, within: &str| -> Vec<Folder> {
            let names = fs::read_dir(parent)
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            let user = |name: &str| name.strip_prefix(prefix)?.parse().ok();
            let folder =
                |name: String| Some(Folder { user: user(&name)?, path: Path::new(parent).join(name).join(within) });
            names.filter_map(folder).take(MAX_USERS).collect()
        };
        folders.extend(of_users(SESSIONS, "", WITHIN));
        folders.extend(of_users(TEMPORARY, TEMPORARY_PREFIX, ""));
    }
    folders.sort();
    folders.dedup();
    folders
}

/// Returns a folder for a socket; creates it if there is none.
///
/// # Errors
/// Why the last possible folder cannot be used.
pub fn for_publishing() -> io::Result<PathBuf> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for folder in candidates() {
        let made = match DirBuilder::new().mode(0o700).create(&folder.path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        match made.and_then(|()| check(&folder)) {
            Ok(()) => return Ok(folder.path),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether only its user can write to the folder. Otherwise others could answer in place of a client.
fn check(folder: &Folder) -> io::Result<()> {
    let metadata = fs::symlink_metadata(&folder.path)?;
    let is_own = metadata.is_dir() && metadata.uid() == folder.user && metadata.mode() & 0o077 == 0;
    if is_own { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// The socket of a process in a folder.
pub fn socket(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!("{PREFIX}{pid}-{}{SUFFIX}", pid_namespace()))
}

/// The sockets of all clients that this user may ask, in order of process. Leaves out ended processes.
pub fn sockets() -> Vec<Socket> {
    let folders = visible().into_iter().filter(|folder| check(folder).is_ok());
    let sockets = folders.flat_map(|folder| {
        let own = in_folder(&folder.path).into_iter().filter(|entry| entry.is_of_this_namespace());
        own.map(move |Entry { pid, path, .. }| Socket { pid, user: folder.user, path })
    });
    let mut found: Vec<Socket> = sockets.filter(|socket| is_alive(socket.pid)).collect();
    found.sort();
    found
}

/// Removes the sockets of processes that ended without doing so.
pub fn remove_stale(folder: &Path) {
    for stale in in_folder(folder).into_iter().filter(Entry::is_stale) {
        // Another process may have removed it meanwhile.
        let _ = fs::remove_file(stale.path);
    }
}

/// A socket by its name.
struct Entry {
    pid: u32,
    pid_namespace: u64,
    path: PathBuf,
}

impl Entry {
    fn parse(folder: &Path, name: &str) -> Option<Entry> {
        let (pid, pid_namespace) = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split_once('-')?;
        Some(Entry { pid: pid.parse().ok()?, pid_namespace: pid_namespace.parse().ok()?, path: folder.join(name) })
    }

    fn is_of_this_namespace(&self) -> bool {
        self.pid_namespace == pid_namespace()
    }

    /// Whether its process has ended. A process of another namespace is not visible, but nobody answers at its socket
    /// then.
    fn is_stale(&self) -> bool {
        match self.is_of_this_namespace() {
            true => !is_alive(self.pid),
            false => self.is_old() && is_refused(&self.path),
        }
    }

    fn is_old(&self) -> bool {
        let age = fs::metadata(&self.path).and_then(|about| about.modified()).map(|made| made.elapsed());
        matches!(age, Ok(Ok(age)) if age > MIN_STALE_AGE)
    }
}

fn in_folder(folder: &Path) -> Vec<Entry> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| Entry::parse(folder, &name)).take(MAX_SOCKETS).collect()
}

/// The number of this process's PID namespace; 0 if unknown.
fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |about| about.ino())
}

fn is_refused(socket: &Path) -> bool {
    matches!(UnixStream::connect(socket), Err(error) if error.kind() == io::ErrorKind::ConnectionRefused)
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    const OTHER_NAMESPACE: u64 = 1;
    /// No process has this id.
    const ENDED: u32 = i32::MAX as u32;

    #[test]
    fn sockets_of_ended_processes_go_and_those_of_other_namespaces_stay() {
        let folder = std::env::temp_dir().join(format!("wharf-sockets-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let other = folder.join(format!("{PREFIX}{ENDED}-{OTHER_NAMESPACE}{SUFFIX}"));
        let sockets = [socket(&folder, ENDED), socket(&folder, std::process::id()), other];
        let listeners = sockets.each_ref().map(|path| UnixListener::bind(path).unwrap());
        remove_stale(&folder);
        assert_eq!(sockets.each_ref().map(|path| path.exists()), [false, true, true]);
        drop(listeners);
        remove_stale(&folder);
        assert!(sockets[2].exists(), "it may be one that does not listen yet");
        let old = std::time::SystemTime::now() - 2 * MIN_STALE_AGE;
        let times = rustix::fs::Timestamps { last_access: timespec(old), last_modification: timespec(old) };
        rustix::fs::utimensat(rustix::fs::CWD, &sockets[2], &times, rustix::fs::AtFlags::empty()).unwrap();
        remove_stale(&folder);
        assert!(!sockets[2].exists());
        fs::remove_dir_all(folder).unwrap();
    }

    fn timespec(time: std::time::SystemTime) -> rustix::fs::Timespec {
        let since = time.duration_since(std::time::UNIX_EPOCH).unwrap();
        rustix::fs::Timespec { tv_sec: since.as_secs().cast_signed(), tv_nsec: 0 }
    }
}
