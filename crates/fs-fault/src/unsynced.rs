//! Tracks unsynced writes, so that a crash can lose them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vfs::{Context, FileSystem, Handle, OpenFile, OpenMode, Result, SetAttributes};

/// The writes that are not on stable storage, and the number of crashes.
#[derive(Default)]
pub(crate) struct Unsynced {
    /// Oldest first.
    undos: Mutex<Vec<Undo>>,
    crashes: AtomicU64,
}

/// The state of a file before a write.
pub(crate) struct Undo {
    node: Handle,
    file: Arc<dyn OpenFile>,
    offset_bytes: u64,
    /// The old data in the range of the write, up to the end of the file.
    bytes: Vec<u8>,
    size_bytes: u64,
}

impl Undo {
    /// Records what a write of `length_bytes` will replace.
    pub(crate) fn of(node: &Handle, file: &Arc<dyn OpenFile>, offset_bytes: u64, length_bytes: usize) -> Result<Undo> {
        let size_bytes = file.attributes(&Context::ROOT)?.size_bytes;
        let mut bytes = vec![0; length_bytes];
        let count = file.read_at(&Context::ROOT, offset_bytes, &mut bytes)?;
        bytes.truncate(count);
        Ok(Undo { node: *node, file: Arc::clone(file), offset_bytes, bytes, size_bytes })
    }

    fn apply<F: FileSystem + ?Sized>(&self, inner: &F) -> Result<()> {
        self.file.write_at(&Context::ROOT, self.offset_bytes, &self.bytes, vfs::Stability::File)?;
        let set = SetAttributes { size_bytes: Some(self.size_bytes), ..SetAttributes::default() };
        inner.set_attributes(&Context::ROOT, &self.node, &set).map(drop)
    }
}

impl Unsynced {
    /// Opens a file so that replaced data can be read and restored.
    pub(crate) fn open<F: FileSystem + ?Sized>(inner: &F, node: &Handle) -> Result<Arc<dyn OpenFile>> {
        inner.open(&Context::ROOT, node, OpenMode::Write)
    }

    pub(crate) fn push(&self, undo: Undo) {
        self.lock().push(undo);
    }

    /// A sync made all data of this file durable.
    pub(crate) fn synced(&self, node: &Handle) {
        self.lock().retain(|undo| undo.node != *node);
    }

    /// A sync made all data of all files durable.
    pub(crate) fn all_synced(&self) {
        self.lock().clear();
    }

    /// How often [`Unsynced::lose`] was called.
    pub(crate) fn crashes(&self) -> u64 {
        self.crashes.load(Ordering::Relaxed)
    }

    /// Undoes all unsynced writes. Skips files that no longer exist.
    pub(crate) fn lose<F: FileSystem + ?Sized>(&self, inner: &F) -> usize {
        self.crashes.fetch_add(1, Ordering::Relaxed);
        let undone = std::mem::take(&mut *self.lock());
        undone.iter().rev().filter(|undo| undo.apply(inner).is_ok()).count()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Undo>> {
        self.undos.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
