//! The least that a listing with attributes and handles costs.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use rustix::fs::{AtFlags, RawDir, SeekFrom, StatxFlags, seek, statx};

use crate::sys;

/// As much of a directory as one call of the kernel tells.
const BUFFER_BYTES: usize = 64 << 10;

/// Makes the system calls that a listing of a directory with attributes and handles cannot do without, `getdents64`,
/// and `statx` and `name_to_handle_at` for each name, keeps nothing, and returns how many names there are. How fast
/// that is bounds every server that does not answer from a cache.
///
/// # Errors
/// What the kernel says; without the right to make handles, or on a file system that has none, `EOPNOTSUPP`.
pub fn survey(directory: &File) -> io::Result<u64> {
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
    seek(directory, SeekFrom::Start(0))?;
    let mut listing = RawDir::new(directory.as_fd(), &mut buffer);
    let mut names = 0;
    while let Some(entry) = listing.next() {
        let entry = entry?;
        statx(directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)?;
        sys::name_to_handle(directory.as_fd(), entry.file_name(), 0)?;
        names += 1;
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_counted_each_time() {
        let folder = std::env::temp_dir().join(format!("wharf-survey-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for number in 0..500 {
            File::create(folder.join(format!("{number}"))).unwrap();
        }
        let opened = File::open(&folder).unwrap();
        let found = [survey(&opened).unwrap(), survey(&opened).unwrap()];
        std::fs::remove_dir_all(&folder).unwrap();
        // With `.` and `..`.
        assert_eq!(found, [502, 502]);
    }
}
