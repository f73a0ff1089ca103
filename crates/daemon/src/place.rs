//! Where a state directory is: which machine and which directory. A copy of the directory has the same keys and is
//! elsewhere, so that clients never take two servers for one (RFC 8881 §2.10.5).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use own_files::OwnDir;

/// The file with the place where the directory was used last.
const PLACE_FILE: &str = "place";

/// The identity of the machine (machine-id(5)); containers may have none.
const MACHINE_ID: &str = "/etc/machine-id";

/// The longest place in the file, in bytes.
const MAX_BYTES: u64 = 256;

/// The place of a state directory: the machine, and the inode and the birth of the directory, which no copy shares.
///
/// # Errors
/// When the directory cannot be looked at.
pub(crate) fn of(dir: &Path) -> io::Result<String> {
    let metadata = fs::metadata(dir)?;
    let birth = metadata.created().ok().and_then(|birth| birth.duration_since(UNIX_EPOCH).ok());
    let machine = fs::read_to_string(MACHINE_ID).unwrap_or_default();
    Ok(format!("{} {} {}", machine.trim(), metadata.ino(), birth.unwrap_or_default().as_nanos()))
}

/// Whether the directory was used at another place before, which is recorded then.
///
/// # Errors
/// When the record cannot be read or written.
pub(crate) fn has_moved(dir: &OwnDir, place: &str) -> io::Result<bool> {
    let before = dir.read(PLACE_FILE, MAX_BYTES)?.unwrap_or_default();
    if before == place.as_bytes() {
        return Ok(false);
    }
    dir.replace(PLACE_FILE, place.as_bytes())?;
    Ok(!before.is_empty())
}

/// The place of the directory for the server's owner; logs when it is not the one before.
pub(crate) fn settle(dir: &OwnDir) -> Box<[u8]> {
    let place = of(dir.path()).unwrap_or_default();
    match has_moved(dir, &place) {
        Ok(true) => tracing::warn!(
            "the state directory {} was copied or moved: NFSv4 clients take this server for another one than before. \
             Give each server a state directory of its own, since a copy lets one make handles for the other",
            dir.path().display()
        ),
        Ok(false) => {}
        Err(error) => tracing::warn!("cannot record where the state directory {} is: {error}", dir.path().display()),
    }
    place.into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that is removed at the end.
    struct Dir(OwnDir);

    impl Dir {
        fn new(name: &str) -> Dir {
            let path = std::env::temp_dir().join(format!("wharf-place-{}-{name}", std::process::id()));
            Dir(OwnDir::create(&path).unwrap())
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(self.0.path());
        }
    }

    #[test]
    fn copied_state_directory_is_another_place_and_the_same_one_stays_over_restarts() {
        let (original, copy) = (Dir::new("original"), Dir::new("copy"));
        let place = of(original.0.path()).unwrap();
        assert!(!has_moved(&original.0, &place).unwrap(), "it is new");
        assert_eq!(of(original.0.path()).unwrap(), place);
        assert!(!has_moved(&original.0, &place).unwrap());
        fs::copy(original.0.path().join(PLACE_FILE), copy.0.path().join(PLACE_FILE)).unwrap();
        let elsewhere = of(copy.0.path()).unwrap();
        assert_ne!(elsewhere, place);
        assert!(has_moved(&copy.0, &elsewhere).unwrap());
        assert!(!has_moved(&copy.0, &elsewhere).unwrap(), "once is enough");
    }
}
