//! Where a state directory is: which machine and which directory. A copy of the directory has the same keys and is
//! elsewhere, so that clients never take two servers for one (RFC 8881 §2.10.5).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

use own_files::OwnDir;

use crate::state_files::PLACE;

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

/// Where the directory was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nowhere.
    Nowhere,
    /// Here.
    Here,
    /// At another place.
    Elsewhere,
    /// The record is damaged.
    Unknown,
}

/// Records the place of the directory, and returns what was recorded before.
fn replace(dir: &OwnDir, place: &str) -> io::Result<Before> {
    let before = match dir.read(PLACE.name, MAX_BYTES)? {
        Some(before) if before == place.as_bytes() => return Ok(Before::Here),
        Some(before) if is_place(&before) => Before::Elsewhere,
        Some(_) => Before::Unknown,
        None => Before::Nowhere,
    };
    dir.replace(PLACE.name, place.as_bytes())?;
    Ok(before)
}

fn is_place(text: &[u8]) -> bool {
    let numbers = std::str::from_utf8(text).ok().and_then(|text| text.split_once(' '));
    numbers
        .and_then(|(_, numbers)| numbers.split_once(' '))
        .is_some_and(|(inode, birth)| inode.parse::<u64>().is_ok() && birth.parse::<u128>().is_ok())
}

/// Records the place of the directory for the next start, and logs when it is not the one before.
pub(crate) fn record(dir: &OwnDir, place: &str) {
    match replace(dir, place) {
        Ok(Before::Elsewhere) => tracing::warn!(
            "the state directory {} was copied or moved: NFSv4 clients take this server for another one than before. \
             Give each server a state directory of its own, since a copy lets one make handles for the other",
            dir.path().display()
        ),
        Ok(Before::Unknown) => tracing::warn!("{}", PLACE.lost(dir.path(), "is damaged")),
        Ok(Before::Nowhere | Before::Here) => {}
        Err(error) => tracing::warn!("cannot record where the state directory {} is: {error}", dir.path().display()),
    }
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
        assert_eq!(replace(&original.0, &place).unwrap(), Before::Nowhere);
        assert_eq!(of(original.0.path()).unwrap(), place);
        assert_eq!(replace(&original.0, &place).unwrap(), Before::Here);
        fs::copy(original.0.path().join(PLACE.name), copy.0.path().join(PLACE.name)).unwrap();
        let elsewhere = of(copy.0.path()).unwrap();
        assert_ne!(elsewhere, place);
        assert_eq!(replace(&copy.0, &elsewhere).unwrap(), Before::Elsewhere);
        assert_eq!(replace(&copy.0, &elsewhere).unwrap(), Before::Here, "once is enough");
        for damaged in [&b""[..], b"0a 1", b"0a 1 2x", b"\xff 1 2"] {
            fs::write(copy.0.path().join(PLACE.name), damaged).unwrap();
            assert_eq!(replace(&copy.0, &elsewhere).unwrap(), Before::Unknown);
        }
    }
}
