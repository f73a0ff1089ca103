//! Whether a power failure ends a file, since it is in this machine's memory or is never flushed.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor, statfs};

use crate::mounts::Mount;
use crate::volume::{OVERLAY_MAGIC, RAMFS_MAGIC, TMPFS_MAGIC};
use crate::whereabouts::existing_part;

/// What has block devices by number.
const BLOCK_DEVICES: &str = "/sys/dev/block";

/// Names of block devices in memory begin so.
const MEMORY_DEVICES: [&str; 2] = ["ram", "zram"];

/// An option of an overlay that does nothing when it is to flush, as older and newer kernels show it.
const VOLATILE: [&str; 2] = ["volatile", "fsync=volatile"];

/// The most overlays whose upper layer is on another one. The kernel stacks two.
const MAX_OVERLAYS: u32 = 4;

/// Says on what a file is, or will be, that a power failure ends: `tmpfs, which is in memory`. `None` for all others.
///
/// # Errors
/// What the system says to a look at the path.
pub fn lost_with_power(path: &Path) -> io::Result<Option<String>> {
    lost_below(path, MAX_OVERLAYS)
}

fn lost_below(path: &Path, overlays: u32) -> io::Result<Option<String>> {
    let (existing, _) = existing_part(path)?;
    let found = fs::metadata(&existing)?;
    if found.file_type().is_block_device() {
        return Ok(memory_device(found.rdev()));
    }
    match u64::try_from(statfs(&existing)?.f_type).unwrap_or_default() {
        TMPFS_MAGIC => Ok(Some(in_memory("tmpfs"))),
        RAMFS_MAGIC => Ok(Some(in_memory("ramfs"))),
        OVERLAY_MAGIC => overlay(&existing, overlays),
        _ => Ok(memory_device(found.dev())),
    }
}

/// An overlay has its new files in its upper layer, if this process can see that.
fn overlay(existing: &Path, overlays: u32) -> io::Result<Option<String>> {
    let Some(mount) = Mount::at(existing)? else { return Ok(None) };
    if VOLATILE.iter().any(|option| mount.has(option)) {
        return Ok(Some("an overlay mounted with `volatile`, which flushes nothing".to_owned()));
    }
    let (Some(upper), Some(left)) = (mount.path("upperdir"), overlays.checked_sub(1)) else { return Ok(None) };
    if !upper.exists() {
        return Ok(None);
    }
    Ok(lost_below(&upper, left)?.map(|lower| format!("an overlay whose upper layer is on {lower}")))
}

fn in_memory(name: &str) -> String {
    format!("{name}, which is in memory")
}

fn memory_device(number: u64) -> Option<String> {
    let device = Path::new(BLOCK_DEVICES).join(format!("{}:{}", major(number), minor(number)));
    let name = device.canonicalize().ok()?.file_name()?.to_str()?.to_owned();
    let is_memory = MEMORY_DEVICES.iter().any(|memory| name.strip_prefix(memory).is_some_and(is_number));
    is_memory.then(|| in_memory(&name))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_to_be_made_on_tmpfs_is_in_memory_and_one_in_proc_is_not() {
        assert_eq!(lost_with_power(Path::new("/proc/nothing")).unwrap(), None);
        if fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
            assert_eq!(
                lost_with_power(Path::new("/dev/shm/nothing/here")).unwrap().as_deref(),
                Some("tmpfs, which is in memory")
            );
        } else {
            println!("skipped: /dev/shm is no tmpfs here");
        }
    }
}
