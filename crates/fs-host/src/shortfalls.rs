//! What a power failure may undo though it was acknowledged, for the warnings of a start.
//!
//! docs/file-systems.md and docs/write-log.md have this for users.

use std::fmt::Display;
use std::io;
use std::os::unix::fs::MetadataExt;
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
    let state = options.state_dir.as_deref().filter(|state| volume.rules.has_fast_commit && is_on(volume, state));
    let state = state.map(|state| fsync_beside(&path, state));
    nodes.into_iter().chain(journal).chain(cached).chain(state).collect()
}

/// The server flushes an export with syncfs(2), but its own files with fsync(2).
fn fsync_beside(export: &impl Display, state_dir: &Path) -> String {
    format!(
        "the state directory {} is on the file system of the export {export}, an ext4 with fast_commit: after a power \
         failure Linux may be unable to mount it, since the server calls fsync there for its own files; choose a \
         directory on another file system with --state-dir DIR, or unmount this one and run tune2fs -O ^fast_commit \
         DEVICE",
        quoted(state_dir)
    )
}

/// Whether a directory is, or will be, on the file system of an export.
fn is_on(volume: &HostVolume, dir: &Path) -> bool {
    let found = existing_part(dir).and_then(|(existing, _)| existing.metadata());
    found.is_ok_and(|found| found.dev() == volume.device)
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

#[cfg(test)]
mod tests {
    use testing::disks::{DiskKind, LoopDisk};

    use super::*;
    use crate::host::HostFs;

    #[test]
    fn state_directory_beside_an_export_on_ext4_with_fast_commits_is_warned_of() {
        for (kind, is_warned_of) in [(DiskKind::EXT4_FAST_COMMIT, true), (DiskKind::EXT4, false)] {
            let Some(disk) = LoopDisk::new(kind) else { return };
            let export = disk.dir().join("export");
            std::fs::create_dir(&export).unwrap();
            let shortfalls = |state_dir| {
                let options = HostOptions { state_dir: Some(state_dir), ..HostOptions::default() };
                HostFs::examine(&export, &options).unwrap().shortfalls
            };
            let beside = shortfalls(disk.dir().join("new/state"));
            assert_eq!(beside.iter().any(|said| said.contains("fast_commit")), is_warned_of, "{kind:?}: {beside:?}");
            assert_eq!(shortfalls(disk.beside("state")), Vec::<String>::new(), "{kind:?}");
        }
    }
}
