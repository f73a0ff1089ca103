//! Counts the files to copy while the copy is running.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Weak;

use client::{Detail, Entry, Handle, Mount};
use vfs::FileKind;

use super::Total;

/// The maximum number of entries to count. A larger tree is copied without a percentage.
const MAX_ENTRIES: u64 = 10_000_000;
/// The maximum number of pending directories.
const MAX_PENDING: usize = 100_000;
/// The maximum number of files with several names to track.
const MAX_LINKED: usize = 1_000_000;

/// What was counted so far.
#[derive(Default)]
struct Count {
    entries: u64,
    files: u64,
    bytes: u64,
    /// Files with several names, which are copied once.
    linked: HashSet<(u64, u64)>,
}

/// A regular file.
struct Met {
    id: (u64, u64),
    links: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, file: &Met) {
        if file.links > 1 && (self.linked.len() >= MAX_LINKED || !self.linked.insert(file.id)) {
            return;
        }
        self.files += 1;
        self.bytes += file.bytes;
    }

    /// Counts an entry. Returns whether to stop, because the tree is too large or the copy has ended.
    fn is_over(&mut self, pending: usize, total: &Weak<Total>) -> bool {
        self.entries += 1;
        self.entries > MAX_ENTRIES || pending > MAX_PENDING || total.strong_count() == 0
    }
}

/// Counts a local tree. Skips what cannot be read; the copy reports it.
pub(super) fn count_here(top: &Path, total: &Weak<Total>) {
    let (mut count, mut dirs) = (Count::default(), Vec::new());
    count_one(top, &mut count, &mut dirs);
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = std::fs::read_dir(dir) else { continue };
        for entry in entries.flatten() {
            if count.is_over(dirs.len(), total) {
                return;
            }
            count_one(&entry.path(), &mut count, &mut dirs);
        }
    }
    tell(total, &count);
}

fn count_one(path: &Path, count: &mut Count, dirs: &mut Vec<PathBuf>) {
    use std::os::unix::fs::MetadataExt;
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return };
    if metadata.is_file() {
        count.add(&Met { id: (metadata.dev(), metadata.ino()), links: metadata.nlink(), bytes: metadata.len() });
    } else if metadata.is_dir() {
        dirs.push(path.to_owned());
    }
}

/// Counts a remote tree. Skips what cannot be read; the copy reports it.
pub(super) async fn count_there(mount: Mount, top: Entry, total: Weak<Total>) {
    let (mut count, mut dirs) = (Count::default(), Vec::new());
    count_entry(top, &mut count, &mut dirs);
    while let Some(dir) = dirs.pop() {
        let mut listing = mount.read_dir(&dir, Detail::Entries);
        while let Ok(Some(found)) = listing.next().await {
            if count.is_over(dirs.len(), &total) {
                return;
            }
            if let Some(entry) = found.entry {
                count_entry(entry, &mut count, &mut dirs);
            }
        }
    }
    tell(&total, &count);
}

fn count_entry(entry: Entry, count: &mut Count, dirs: &mut Vec<Handle>) {
    let attributes = &entry.attributes;
    match attributes.kind {
        FileKind::Regular => {
            let id = (attributes.fsid, attributes.fileid);
            count.add(&Met { id, links: attributes.links.into(), bytes: attributes.size_bytes });
        }
        FileKind::Directory => dirs.push(entry.handle),
        _ => {}
    }
}

fn tell(total: &Weak<Total>, count: &Count) {
    if let Some(total) = total.upgrade() {
        total.set(count.files, count.bytes);
    }
}
