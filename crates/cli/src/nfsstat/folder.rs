//! Where clients and whoever asks them meet: a folder of sockets that only their user can enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, geteuid, test_kill_process};

/// What the names of sockets begin and end with; the id of the process stands between.
const PREFIX: &str = "nfsstat-";
const SUFFIX: &str = ".sock";
/// The environment variable that names the only folder to use.
const ONLY_FOLDER: &str = "WHARF_RUNTIME_DIR";
/// The most sockets that are looked at in one folder.
const MAX_SOCKETS: usize = 4096;

/// The folders that clients of this user may use, best first.
fn candidates() -> Vec<PathBuf> {
    if let Some(only) = std::env::var_os(ONLY_FOLDER) {
        return vec![only.into()];
    }
    let user = geteuid();
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let mut folders: Vec<PathBuf> = session.map(|dir| dir.join("wharf")).into_iter().collect();
    if user.is_root() {
        folders.push("/run/wharf".into());
    }
    folders.push(format!("/tmp/wharf-{}", user.as_raw()).into());
    folders
}

/// A folder to make a socket in; it is made when there is none.
///
/// # Errors
/// Why the last of the folders will not do.
pub fn for_publishing() -> io::Result<PathBuf> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for folder in candidates() {
        let made = match DirBuilder::new().mode(0o700).create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        match made.and_then(|()| check(&folder)) {
            Ok(()) => return Ok(folder),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Whether only this user can put anything into the folder: in a folder of somebody else's, anybody could answer for a client.
fn check(folder: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(folder)?;
    let is_own = metadata.is_dir() && metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o077 == 0;
    if is_own { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// The socket of a process in a folder.
pub fn socket(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!("{PREFIX}{pid}{SUFFIX}"))
}

/// The sockets of all clients, with the ids of their processes, in the order of these. Those whose process is gone are left
/// out.
pub fn sockets() -> Vec<(u32, PathBuf)> {
    let mut found: Vec<(u32, PathBuf)> =
        candidates().iter().filter(|folder| check(folder).is_ok()).flat_map(|folder| in_folder(folder)).collect();
    found.retain(|(pid, _)| is_alive(*pid));
    found.sort();
    found
}

/// Removes the sockets of processes that ended without doing so.
pub fn remove_stale(folder: &Path) {
    for (_, socket) in in_folder(folder).into_iter().filter(|(pid, _)| !is_alive(*pid)) {
        // Another process may have removed it meanwhile.
        let _ = fs::remove_file(socket);
    }
}

fn in_folder(folder: &Path) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let pid = |name: &str| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| Some((pid(&name)?, folder.join(name)))).take(MAX_SOCKETS).collect()
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}
