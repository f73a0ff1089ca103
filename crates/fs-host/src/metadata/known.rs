//! Handles of files that were seen before. A file's attributes tell which file it is: its inode number, and the time
//! when the inode was made. Whoever has just fetched the attributes finds the handle here without asking the kernel or
//! the store again.
//!
//! Each worker has a shelf. A shelf has two generations: what is used moves to the younger one, and when that is full,
//! the older one is dropped.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::Statx;
use vfs::{Context, Handle, Timestamp};

use super::{MemoryShare, MetadataMemory, Moment};
use crate::attributes::timestamp;
use crate::form::{Named, decode};

/// How many files a generation has at the most.
const MAX_FILES: usize = 1 << 17;

/// What one file takes: a hash table is half empty in the worst case.
const FILE_BYTES: usize = 2 * size_of::<(u64, KnownFile)>();

/// The handles that one export has given out.
pub(crate) struct KnownFiles {
    shelves: Box<[AlignedShelf]>,
}

/// Keeps two workers' locks off one cache line.
#[repr(align(128))]
struct AlignedShelf(Mutex<Shelf>);

struct Shelf {
    young: Generation,
    old: Generation,
}

/// Files by inode number.
struct Generation {
    files: foldhash::HashMap<u64, KnownFile>,
    share: MemoryShare,
}

/// A file that has a handle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownFile {
    created: Timestamp,
    /// What must be the same besides for the handle to be right: of a handle from the store, see
    /// [`Handles::circumstances`](crate::handles::Handles::circumstances).
    circumstances: u64,
    handle: Handle,
}

impl KnownFile {
    /// What `stat` with a time of birth tells of a file.
    pub(crate) fn new(stat: &Statx, circumstances: u64, handle: Handle) -> KnownFile {
        KnownFile { created: timestamp(stat.stx_btime), circumstances, handle }
    }

    /// Whether no later inode can have the same number and time. `before` is a moment before the file's attributes were
    /// fetched.
    pub(crate) fn is_identified(&self, before: Moment) -> bool {
        before.is_after(self.created)
    }
}

impl KnownFiles {
    /// Makes an empty table for so many workers.
    pub(crate) fn new(workers: usize, memory: &Arc<MetadataMemory>) -> KnownFiles {
        let shelf =
            |_| AlignedShelf(Mutex::new(Shelf { young: Generation::new(memory), old: Generation::new(memory) }));
        KnownFiles { shelves: (0..workers.max(1)).map(shelf).collect() }
    }

    /// The handle of the file with these attributes.
    pub(crate) fn handle(&self, cx: &Context<'_>, stat: &Statx, circumstances: u64) -> Option<Handle> {
        let mut shelf = self.shelf(cx, stat.stx_ino);
        let found = shelf.find(stat.stx_ino)?;
        let is_same = found.created == timestamp(stat.stx_btime) && found.circumstances == circumstances;
        is_same.then_some(found.handle)
    }

    /// Keeps what is known of a file.
    pub(crate) fn keep(&self, cx: &Context<'_>, fileid: u64, file: KnownFile) {
        let mut shelf = self.shelf(cx, fileid);
        // A large table is freed when the lock is free again.
        let dropped = shelf.keep(fileid, file);
        drop(shelf);
        drop(dropped);
    }

    /// Drops what this worker knows of a file that is gone.
    pub(crate) fn drop_gone(&self, cx: &Context<'_>, fileid: u64) {
        self.shelf(cx, fileid).remove(fileid);
    }

    /// Drops a handle that turned out to be stale, though its file may exist: chattr(1) can give an inode of ext4
    /// another generation.
    pub(crate) fn forget(&self, handle: &Handle) {
        for fileid in fileids(handle) {
            for shelf in &self.shelves {
                lock(shelf).forget(fileid, handle);
            }
        }
    }

    /// Drops what was not used since the call before.
    pub(crate) fn tidy(&self) {
        for shelf in &self.shelves {
            let dropped = lock(shelf).turn();
            drop(dropped);
        }
    }

    /// A loop has a shelf of its own. Threads that may wait share theirs, by file: any of them may serve any caller.
    fn shelf(&self, cx: &Context<'_>, fileid: u64) -> MutexGuard<'_, Shelf> {
        let number = if cx.may_block { fileid as usize } else { cx.worker };
        lock(&self.shelves[number % self.shelves.len()])
    }
}

impl Shelf {
    fn find(&mut self, fileid: u64) -> Option<KnownFile> {
        if let Some(found) = self.young.files.get(&fileid) {
            return Some(*found);
        }
        if self.old.files.is_empty() {
            return None;
        }
        let found = *self.old.files.get(&fileid)?;
        self.young.add(fileid, found);
        Some(found)
    }

    fn keep(&mut self, fileid: u64, file: KnownFile) -> Option<Generation> {
        let dropped = (self.young.files.len() >= MAX_FILES).then(|| self.turn());
        self.young.add(fileid, file);
        dropped
    }

    fn forget(&mut self, fileid: u64, handle: &Handle) {
        for generation in [&mut self.young, &mut self.old] {
            if generation.files.get(&fileid).is_some_and(|file| file.handle == *handle) {
                generation.remove(fileid);
            }
        }
    }

    fn remove(&mut self, fileid: u64) {
        for generation in [&mut self.young, &mut self.old] {
            generation.remove(fileid);
        }
    }

    /// Begins a generation; the oldest one is handed out.
    fn turn(&mut self) -> Generation {
        let fresh = Generation { files: foldhash::HashMap::default(), share: self.young.share.empty() };
        mem::replace(&mut self.old, mem::replace(&mut self.young, fresh))
    }
}

impl Generation {
    fn new(memory: &Arc<MetadataMemory>) -> Generation {
        Generation { files: foldhash::HashMap::default(), share: MemoryShare::none(memory) }
    }

    /// Adds a file if there is room for it.
    fn add(&mut self, fileid: u64, file: KnownFile) {
        if let Some(known) = self.files.get_mut(&fileid) {
            *known = file;
        } else if self.files.len() < MAX_FILES && self.share.grow(FILE_BYTES) {
            self.files.insert(fileid, file);
        }
    }

    fn remove(&mut self, fileid: u64) {
        if self.files.remove(&fileid).is_some() {
            self.share.shrink(FILE_BYTES);
        }
    }
}

fn lock(shelf: &AlignedShelf) -> MutexGuard<'_, Shelf> {
    shelf.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The inode numbers that a kernel's handle may have in it: the common file systems put it first or second, in 4 bytes
/// or 8.
fn fileids(handle: &Handle) -> impl Iterator<Item = u64> {
    let bytes = match decode(handle) {
        Ok(Named::Kernel(_, bytes)) => bytes,
        Ok(Named::Btrfs(object, _)) => object,
        Ok(Named::Root | Named::Stored(_)) | Err(_) => &[],
    };
    let word = |range| bytes.get(range).and_then(|word: &[u8]| word.try_into().ok()).map(u32::from_ne_bytes);
    let long = bytes.first_chunk().copied().map(u64::from_ne_bytes);
    [word(0..4).map(u64::from), word(4..8).map(u64::from), long].into_iter().flatten()
}
