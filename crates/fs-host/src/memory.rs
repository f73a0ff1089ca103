//! Whether a file is in this machine's memory, where a power failure ends it.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor, statfs};

use crate::volume::{RAMFS_MAGIC, TMPFS_MAGIC};
use crate::whereabouts::existing_part;

/// What has block devices by number.
const BLOCK_DEVICES: &str = "/sys/dev/block";

/// Names of block devices in memory begin so.
const MEMORY_DEVICES: [&str; 2] = ["ram", "zram"];

/// Names the file system or block device in memory that has a file, or will have it: `tmpfs`, `zram0`. `None` for all
/// others.
///
/// # Errors
/// What the system says to a look at the path.
pub fn memory_behind(path: &Path) -> io::Result<Option<String>> {
    let (existing, _) = existing_part(path)?;
    let found = fs::metadata(&existing)?;
    if found.file_type().is_block_device() {
        return Ok(memory_device(found.rdev()));
    }
    Ok(match u64::try_from(statfs(&existing)?.f_type).unwrap_or_default() {
        TMPFS_MAGIC => Some("tmpfs".to_owned()),
        RAMFS_MAGIC => Some("ramfs".to_owned()),
        _ => memory_device(found.dev()),
    })
}

fn memory_device(number: u64) -> Option<String> {
    let device = Path::new(BLOCK_DEVICES).join(format!("{}:{}", major(number), minor(number)));
    let name = device.canonicalize().ok()?.file_name()?.to_str()?.to_owned();
    MEMORY_DEVICES.iter().any(|memory| name.strip_prefix(memory).is_some_and(is_number)).then_some(name)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_to_be_made_on_tmpfs_is_in_memory_and_one_in_proc_is_not() {
        assert_eq!(memory_behind(Path::new("/proc/nothing")).unwrap(), None);
        if fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
            assert_eq!(memory_behind(Path::new("/dev/shm/nothing/here")).unwrap().as_deref(), Some("tmpfs"));
        } else {
            println!("skipped: /dev/shm is no tmpfs here");
        }
    }
}
