//! What a power failure may undo though it was acknowledged, for the warnings of a start.
//!
//! docs/file-systems.md and docs/write-log.md have this for users.

use std::io;
use std::path::Path;

use vfs::quoted;

use crate::memory::lost_with_power;
use crate::mounts::Mount;
use crate::options::HostOptions;
use crate::volume::HostVolume;
use crate::whereabouts::existing_part;

/// Options of mounts whose flushes leave data in the disk's write cache: ext4, btrfs, F2FS and others.
const WITHOUT_BARRIERS: [&str; 4] = ["nobarrier", "barrier=0", "barrier=none", "fsync_mode=nobarrier"];

/// What may be lost of an export.
pub(crate) fn of_export(dir: &Path, volume: &HostVolume, options: &HostOptions) -> Vec<String> {
    // The directory was opened just now.
    if let Ok(Some(place)) = lost_with_power(dir) {
        let log = if options.is_behind_log { ", and the write log does not bring them back" } else { "" };
        return vec![format!("the export {} is on {place}: a power failure ends its data{log}", quoted(dir))];
    }
    let (path, file_system) = (quoted(dir), &volume.file_system);
    let nodes = volume.rules.doubt.filter(|_| options.sync_metadata).map(|reason| {
        format!(
            "a power failure may undo acknowledged changes of symbolic links and special files of {path} \
             ({file_system}): {reason}"
        )
    });
    let journal = (volume.rules.lacks_journal && options.is_behind_log).then(|| {
        format!(
            "the write log may not survive a power failure in front of {path} ({file_system}), a file system without a \
             journal: its repair may remove directories that the log builds on; run without --write-log, or make a \
             journal (tune2fs -j)"
        )
    });
    let cached = left_in_cache(dir).ok().flatten().map(|why| format!("the export {path} is on {why}"));
    nodes.into_iter().chain(journal).chain(cached).collect()
}

/// Says on what a file is, or will be, of which a flush may leave data in the disk's write cache, and what to do.
///
/// # Errors
/// What the system says to a look at the path.
pub fn left_in_cache(path: &Path) -> io::Result<Option<String>> {
    let (existing, _) = existing_part(path)?;
    let Some(mount) = Mount::at(&existing)? else { return Ok(None) };
    let option = WITHOUT_BARRIERS.iter().find(|option| mount.has(option));
    Ok(option.map(|option| {
        format!(
            "{} mounted with `{option}`: a power failure may undo acknowledged changes that are in the write cache of \
             its disk; mount it without that option, unless the cache has a battery",
            mount.file_system
        )
    }))
}
