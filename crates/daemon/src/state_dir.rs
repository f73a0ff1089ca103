//! The state directory, and the key in it that authenticates file handles.

use std::env;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use own_files::{FileKind, Flaw, Locked, NAME_ANOTHER, OwnDir, explained};
use server::HandleKey;

use crate::key_file;
use crate::records::{self, ClientRecordsError, is_full};
use crate::state_files::{FILES, KEY};

/// How much of the key's file is read, more than a key has: the message has the length.
const MAX_KEY_FILE_BYTES: u64 = 64 << 10;

/// The state directory, which is locked for this process.
pub(crate) type StateDir = Arc<Locked<OwnDir>>;

/// Why the state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// A file in it cannot be created, read or written.
    #[error("cannot {action} {}: {}", path.display(), explained(source, NAME_ANOTHER))]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another server uses it.
    #[error("another server uses the state directory {}; give each server its own", .0.display())]
    InUse(PathBuf),
    /// A file is damaged, and the server must not go on without it.
    #[error(transparent)]
    Damaged(#[from] Flaw),
    /// The client records cannot be used.
    #[error(transparent)]
    Clients(#[from] ClientRecordsError),
    /// The kernel returns no random bytes.
    #[error("cannot create a key for file handles: {0}")]
    Random(getrandom::Error),
}

impl StateDirError {
    /// The error of a failed action in the state directory.
    pub(crate) fn in_dir(action: &'static str, dir: &Path) -> impl FnOnce(io::Error) -> StateDirError + use<> {
        failed(action, dir)
    }
}

/// The default state directory: systemd's, else `/var/lib/wharf` for root, else the user's own state directory. `None`
/// if there is no home either.
pub fn default_dir(is_superuser: bool) -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(given) = absolute("STATE_DIRECTORY") {
        return Some(given);
    }
    if is_superuser {
        return Some(PathBuf::from("/var/lib/wharf"));
    }
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("wharf"))
}

/// The state directory, as long as no server may use it.
#[derive(Debug)]
pub struct StateLock(#[expect(dead_code, reason = "it is locked as long as it lives")] Option<StateDir>);

/// Keeps servers from using the directory. A missing one is not made: no server uses it.
///
/// # Errors
/// When a server uses it, or it cannot be used.
pub fn lock_dir(dir: &Path) -> Result<StateLock, StateDirError> {
    match OwnDir::open(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(StateLock(None)),
        opened => lock(dir, opened.map_err(failed("use the state directory", dir))?).map(Some).map(StateLock),
    }
}

/// Whether a server uses the directory.
#[must_use]
pub fn is_in_use(dir: &Path) -> bool {
    let locked = OwnDir::open(dir).map(Locked::shared);
    matches!(locked, Ok(Err(error)) if error.kind() == io::ErrorKind::WouldBlock)
}

/// Opens and locks the directory, and creates it if it is missing; `None` if there is no space for it.
pub(crate) fn open_dir(dir: &Path) -> Result<Option<StateDir>, StateDirError> {
    let opened = match OwnDir::create(dir) {
        Err(error) if is_full(&error) => {
            tracing::error!(
                "cannot create the state directory {}: {error}; clients lose locks and file handles when the server \
                 restarts",
                dir.display()
            );
            return Ok(None);
        }
        opened => opened.map_err(failed("use the state directory", dir))?,
    };
    lock(dir, opened).map(Some)
}

fn lock(path: &Path, dir: OwnDir) -> Result<StateDir, StateDirError> {
    match Locked::exclusive(dir) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(StateDirError::InUse(path.to_owned())),
        locked => locked.map(Arc::new).map_err(failed("lock", path)),
    }
}

/// Returns the key in `dir`, and creates it if it is missing. Without a directory, or without space, the key lasts
/// until the restart.
pub(crate) fn handle_key(dir: Option<&OwnDir>) -> Result<HandleKey, StateDirError> {
    let Some(dir) = dir else { return random_key().map(HandleKey::new) };
    let path = dir.path().join(KEY.name);
    if let Some(file) = dir.file_to_read(KEY.name).map_err(failed("open", &path))? {
        make_private(&file, &path)?;
        return parse_key(file, &path);
    }
    let key = random_key()?;
    match dir.replace(KEY.name, &key_file::encode(key)) {
        Err(error) if is_full(&error) => tracing::error!(
            "cannot write {}: {error}; clients must mount again when the server restarts",
            path.display()
        ),
        written => drop(written.map_err(failed("write", &path))?),
    }
    Ok(HandleKey::new(key))
}

fn random_key() -> Result<[u8; HandleKey::BYTES], StateDirError> {
    let mut key = [0; HandleKey::BYTES];
    getrandom::fill(&mut key).map_err(StateDirError::Random)?;
    Ok(key)
}

/// Takes other users' permissions away from the key.
fn make_private(file: &File, path: &Path) -> Result<(), StateDirError> {
    let taken = own_files::make_private(file).map_err(failed("take other users' permissions away from", path))?;
    if let Some(mode) = taken {
        tracing::warn!(
            "until now other users could read the key of file handles {} (mode {mode:04o}), with which they can forge \
             handles: if you do not trust them all, remove the file; all clients must then mount again",
            path.display()
        );
    }
    Ok(())
}

fn parse_key(file: File, path: &Path) -> Result<HandleKey, StateDirError> {
    let mut bytes = Vec::new();
    file.take(MAX_KEY_FILE_BYTES).read_to_end(&mut bytes).map_err(failed("read", path))?;
    let key = key_file::parse(&bytes);
    let damaged = |flaw| KEY.refused(path.parent().unwrap_or(path), format!("is damaged ({flaw})"));
    Ok(HandleKey::new(key.map_err(damaged)?))
}

/// Checks the directory, the key and the client records in it, if there are any, and changes nothing.
///
/// # Errors
/// When others can change them, or the key or the records are damaged or cannot be read.
pub fn check_dir(dir: &Path) -> Result<(), StateDirError> {
    let opened = match OwnDir::open(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(failed("use the state directory", dir))?,
    };
    let path = dir.join(KEY.name);
    if let Some(file) = opened.file_to_read(KEY.name).map_err(failed("open", &path))? {
        parse_key(file, &path)?;
    }
    Ok(records::check(&opened)?)
}

/// The files that are lost: an earlier start made a later one.
///
/// # Errors
/// When others can change one of the files, or it cannot be opened.
pub(crate) fn missing_files(dir: &OwnDir) -> Result<Vec<Flaw>, StateDirError> {
    let is_there = |kind: &FileKind| {
        let opened = dir.file_to_read(kind.name);
        opened.map(|file| file.is_some()).map_err(failed("open", &dir.path().join(kind.name)))
    };
    let there = FILES.iter().map(is_there).collect::<Result<Vec<_>, _>>()?;
    let last = there.iter().rposition(|is_there| *is_there).unwrap_or(0);
    let lost = FILES.iter().zip(there).take(last).filter(|(_, is_there)| !is_there);
    Ok(lost.map(|(kind, _)| kind.lost(dir.path(), "is missing")).collect())
}

/// The files that are lost in the directory at this path, of which a start warns.
///
/// # Errors
/// When the directory or a file in it cannot be used.
pub fn missing_files_at(dir: &Path) -> Result<Vec<Flaw>, StateDirError> {
    match OwnDir::open(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        opened => missing_files(&opened.map_err(failed("use the state directory", dir))?),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StateDirError + use<> {
    let path = path.to_owned();
    move |source| StateDirError::File { action, path, source }
}
