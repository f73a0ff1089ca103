//! The state directory, and the key in it that authenticates file handles.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use server::HandleKey;

use crate::key_file::{self, KeyFlaw};
use crate::records::{ClientRecordsError, is_full};

const KEY_FILE: &str = "handle-key";

/// Why the state directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateDirError {
    /// A file in it cannot be created, read or written.
    #[error("cannot {action} {}: {source}; name another state directory", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The key is invalid.
    #[error(
        "the key of file handles {} is damaged: {flaw}; restore it from a backup, or remove it: the server then \
         creates a new one, and all clients must mount again", path.display()
    )]
    BadKey {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        flaw: KeyFlaw,
    },
    /// The client records cannot be used.
    #[error(transparent)]
    Clients(#[from] ClientRecordsError),
    /// The kernel returns no random bytes.
    #[error("cannot create a key for file handles: {0}")]
    Random(getrandom::Error),
}

impl StateDirError {
    /// The error of a failed action in the state directory.
    pub(crate) fn in_dir(action: &'static str, dir: &Path) -> impl FnOnce(io::Error) -> StateDirError {
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

/// Creates the directory if it is missing; `None` if there is no space for it.
pub(crate) fn make_dir(dir: &Path) -> Result<Option<&Path>, StateDirError> {
    match fs::DirBuilder::new().recursive(true).mode(0o700).create(dir) {
        Err(error) if is_full(&error) => {
            tracing::error!(
                "cannot create the state directory {}: {error}; clients lose locks and file handles when the server \
                 restarts",
                dir.display()
            );
            Ok(None)
        }
        made => made.map(|()| Some(dir)).map_err(failed("create the directory", dir)),
    }
}

/// Returns the key in `dir`, and creates it if it is missing. Without a directory, or without space, the key lasts
/// until the restart.
pub(crate) fn handle_key(dir: Option<&Path>) -> Result<HandleKey, StateDirError> {
    let Some(dir) = dir else { return random_key().map(HandleKey::new) };
    let path = dir.join(KEY_FILE);
    match File::open(&path) {
        Ok(file) => read_key(file, &path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match make_key(&path) {
            Err(StateDirError::File { source, .. }) if is_full(&source) => {
                tracing::error!(
                    "cannot write {}: {source}; clients must mount again when the server restarts",
                    path.display()
                );
                random_key().map(HandleKey::new)
            }
            made => made,
        },
        Err(error) => Err(failed("open", &path)(error)),
    }
}

fn random_key() -> Result<[u8; HandleKey::BYTES], StateDirError> {
    let mut key = [0; HandleKey::BYTES];
    getrandom::fill(&mut key).map_err(StateDirError::Random)?;
    Ok(key)
}

fn read_key(file: File, path: &Path) -> Result<HandleKey, StateDirError> {
    key_file::make_private(&file, path).map_err(failed("take other users' permissions away from", path))?;
    parse_key(file, path)
}

fn parse_key(file: File, path: &Path) -> Result<HandleKey, StateDirError> {
    let mut bytes = Vec::new();
    file.take(key_file::FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed("read", path))?;
    let key = key_file::parse(&bytes).map_err(|flaw| StateDirError::BadKey { path: path.to_owned(), flaw })?;
    Ok(HandleKey::new(key))
}

/// Checks the key in `dir`, if there is one, and changes nothing.
///
/// # Errors
/// When the key is invalid or cannot be read.
pub fn check_dir(dir: &Path) -> Result<(), StateDirError> {
    let path = dir.join(KEY_FILE);
    match File::open(&path) {
        Ok(file) => parse_key(file, &path).map(drop),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("open", &path)(error)),
    }
}

/// Writes a new key to a draft and links it into place. Of two servers that start at once, both get the same key, and
/// none reads half a key.
fn make_key(path: &Path) -> Result<HandleKey, StateDirError> {
    let draft = path.with_extension(format!("new-{}", std::process::id()));
    let key = random_key()?;
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(&key_file::encode(key))?;
        file.sync_all()
    };
    write().map_err(|error| {
        // Removes the draft, which takes space.
        let _ = fs::remove_file(&draft);
        failed("write", &draft)(error)
    })?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft).map_err(failed("remove", &draft))?;
    match linked {
        Ok(()) => Ok(HandleKey::new(key)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read_key(File::open(path).map_err(failed("open", path))?, path)
        }
        Err(error) => Err(failed("write", path)(error)),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StateDirError {
    let path = path.to_owned();
    move |source| StateDirError::File { action, path, source }
}
