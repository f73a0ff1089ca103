//! Compares two local trees, byte by byte.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The size of a read in a comparison.
const CHUNK_BYTES: usize = 1 << 20;

/// What was compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compared {
    /// Files and directories.
    pub entries: u64,
    /// Bytes of regular files, including holes.
    pub bytes: u64,
}

/// Compares names, kinds, modes, sizes, times, targets of links and all data.
///
/// # Errors
/// The first difference, or an error of the system.
pub fn compare(original: &Path, copy: &Path) -> Result<Compared, Failure> {
    let mut compared = Compared::default();
    let mut pending = vec![(original.to_owned(), copy.to_owned())];
    while let Some((original, copy)) = pending.pop() {
        let is_dir = compare_one(&original, &copy, &mut compared)?;
        if is_dir {
            let names = names(&original)?;
            if names != self::names(&copy)? {
                return Err(differs(&original, "names"));
            }
            pending.extend(names.iter().map(|name| (original.join(name), copy.join(name))));
        }
    }
    Ok(compared)
}

/// Compares two files, or two directories without their contents. Returns whether they are directories.
fn compare_one(original: &Path, copy: &Path, compared: &mut Compared) -> Result<bool, Failure> {
    let (first, second) = (metadata(original)?, metadata(copy)?);
    let kind = first.file_type();
    if kind != second.file_type() {
        return Err(differs(original, "kind"));
    }
    compared.entries += 1;
    if kind.is_symlink() {
        let target = |path: &Path| fs::read_link(path).map_err(local(path));
        return if target(original)? == target(copy)? { Ok(false) } else { Err(differs(original, "target")) };
    }
    if first.mode() != second.mode() {
        return Err(differs(original, "mode"));
    }
    if kind.is_file() {
        if (first.len(), first.mtime()) != (second.len(), second.mtime()) {
            return Err(differs(original, "size or time"));
        }
        compare_bytes(original, copy)?;
        compared.bytes += first.len();
    }
    Ok(kind.is_dir())
}

fn compare_bytes(original: &Path, copy: &Path) -> Result<(), Failure> {
    let mut first = File::open(original).map_err(local(original))?;
    let mut second = File::open(copy).map_err(local(copy))?;
    let mut buffers = [vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]];
    loop {
        let [ours, theirs] = &mut buffers;
        let count = fill(&mut first, ours).map_err(local(original))?;
        let other = fill(&mut second, theirs).map_err(local(copy))?;
        if ours[..count] != theirs[..other] {
            return Err(differs(original, "bytes"));
        }
        if count == 0 {
            return Ok(());
        }
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match file.read(&mut buffer[count..])? {
            0 => break,
            more => count += more,
        }
    }
    Ok(count)
}

fn names(dir: &Path) -> Result<BTreeSet<OsString>, Failure> {
    let entries = fs::read_dir(dir).map_err(local(dir))?;
    entries.map(|entry| entry.map(|entry| entry.file_name()).map_err(local(dir))).collect()
}

fn metadata(path: &Path) -> Result<Metadata, Failure> {
    fs::symlink_metadata(path).map_err(local(path))
}

fn differs(path: &Path, what: &'static str) -> Failure {
    Failure::Differs { path: path.to_owned(), what }
}

fn local(path: &Path) -> impl Fn(io::Error) -> Failure {
    let path: PathBuf = path.to_owned();
    move |source| Failure::Local { path: path.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::stage::Stage;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::time::{Duration, SystemTime};

    /// Creates a directory with a file of two chunks and a bit, and a link, all with fixed modes and times.
    fn make(top: &Path) {
        fs::create_dir(top).unwrap();
        fs::set_permissions(top, Permissions::from_mode(0o755)).unwrap();
        symlink("target", top.join("link")).unwrap();
        write(&top.join("file"), &vec![7; 2 * CHUNK_BYTES + 3]);
    }

    fn write(path: &Path, bytes: &[u8]) {
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        File::open(path).unwrap().set_modified(time).unwrap();
    }

    /// One test, because a process has one stage.
    #[test]
    fn every_kind_of_difference_is_found_out() {
        let stage = Stage::new().unwrap();
        let (one, two) = (stage.path("one"), stage.path("two"));
        make(&one);
        make(&two);
        let same = Compared { entries: 3, bytes: 2 * CHUNK_BYTES as u64 + 3 };
        assert_eq!(compare(&one, &two).unwrap(), same);
        let finds = |what: &str| {
            let failure = compare(&one, &two).unwrap_err().to_string();
            assert!(failure.ends_with(&format!("other {what}")), "{failure}");
        };
        let mut bytes = vec![7; 2 * CHUNK_BYTES + 3];
        bytes[CHUNK_BYTES + 5] = 8;
        write(&two.join("file"), &bytes);
        finds("bytes");
        write(&two.join("file"), &bytes[1..]);
        finds("size or time");
        fs::set_permissions(two.join("file"), Permissions::from_mode(0o600)).unwrap();
        finds("mode");
        fs::remove_file(two.join("file")).unwrap();
        finds("names");
        fs::create_dir(two.join("file")).unwrap();
        finds("kind");
        fs::remove_file(two.join("link")).unwrap();
        symlink("elsewhere", two.join("link")).unwrap();
        fs::remove_dir(two.join("file")).unwrap();
        write(&two.join("file"), &vec![7; 2 * CHUNK_BYTES + 3]);
        finds("target");
        stage.clean_up().unwrap();
    }
}
