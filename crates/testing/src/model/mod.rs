//! What clients were told, and what must therefore be there after a power failure.

pub mod change;
pub mod check;

use std::collections::{BTreeMap, BTreeSet};

use vfs::{FileKind, Handle};

/// A name in a directory.
pub type Spot = (Handle, Vec<u8>);

/// A directory and all below it.
#[derive(Clone, Default)]
pub struct Model {
    pub files: BTreeMap<Handle, File>,
    pub names: BTreeMap<Spot, Handle>,
    /// Handles of files that are gone.
    pub gone: BTreeSet<Handle>,
    /// What it has of a file that others change too.
    pub part: Option<Part>,
}

/// Some bytes of a file, which nobody else changes.
#[derive(Clone)]
pub struct Part {
    pub file: Handle,
    /// Where they begin.
    pub start: usize,
    pub content: File,
}

#[derive(Clone)]
pub struct File {
    pub kind: FileKind,
    pub mode: u32,
    pub target: Vec<u8>,
    /// The bytes, and whether each must be there: not those that were written unstably.
    pub data: Vec<(u8, bool)>,
    /// How long the file must be at least.
    pub sure_bytes: usize,
    /// What may be there in place of bytes that are not sure, and where it begins.
    older: Vec<(usize, Vec<u8>)>,
    /// Whether anything may be in place of what is not sure, and behind the end.
    is_loose: bool,
    /// The value of the extended attribute that the changes set.
    pub note: Option<Vec<u8>>,
}

impl Model {
    pub fn new(root: Handle) -> Model {
        let mut model = Model::default();
        model.files.insert(root, File::new(FileKind::Directory, 0o755));
        model
    }

    pub fn make(&mut self, spot: Spot, handle: Handle, file: File) {
        assert!(!self.gone.contains(&handle), "{handle:?} was another file's");
        let before = self.files.insert(handle, file);
        assert!(before.is_none(), "{handle:?} is another file's");
        self.names.insert(spot, handle);
    }

    pub fn remove(&mut self, spot: &Spot) {
        if let Some(file) = self.names.remove(spot) {
            self.drop_unnamed(file);
        }
    }

    pub fn rename(&mut self, from: &Spot, to: &Spot) {
        let Some(&file) = self.names.get(from) else { return };
        if self.names.get(to) == Some(&file) {
            return;
        }
        self.names.remove(from);
        if let Some(replaced) = self.names.insert(to.clone(), file) {
            self.drop_unnamed(replaced);
        }
    }

    /// A name was moved and its old place not flushed yet: both are there.
    pub fn rename_partly(&mut self, from: &Spot, to: &Spot) {
        self.rename(from, to);
        if let Some(&file) = self.names.get(to) {
            self.names.insert(from.clone(), file);
        }
    }

    fn drop_unnamed(&mut self, file: Handle) {
        if !self.names.values().any(|named| *named == file) {
            self.files.remove(&file);
            self.gone.insert(file);
        }
    }

    /// Allows for what a file system without a journal may be like behind a power failure: the handle of a removed file
    /// reaches it in lost+found, and data that were not flushed are anything and of any length.
    pub fn expect_no_journal(&mut self) {
        self.gone.clear();
        let part = self.part.as_mut().map(|part| &mut part.content);
        for file in self.files.values_mut().chain(part) {
            file.is_loose = file.has_unsure_bytes();
        }
    }

    /// Takes out what `e2fsck` has cleared of ext2: files with data that were not flushed. Their blocks of addresses
    /// may be older than they are, and whole files are cleared when too many addresses make no sense.
    pub fn allow_cleared(&mut self, is_gone: impl Fn(&Handle) -> bool) {
        let is_cleared = |handle: &Handle, file: &File| file.has_unsure_bytes() && is_gone(handle);
        self.files.retain(|handle, file| !is_cleared(handle, file));
        self.names.retain(|_, named| self.files.contains_key(named));
        self.part.take_if(|part| is_cleared(&part.file, &part.content));
    }

    pub fn dirs(&self) -> Vec<Handle> {
        let is_dir = |(_, file): &(&Handle, &File)| file.kind == FileKind::Directory;
        self.files.iter().filter(is_dir).map(|(handle, _)| *handle).collect()
    }

    pub fn regular(&self) -> Vec<Handle> {
        let is_regular = |(_, file): &(&Handle, &File)| file.kind == FileKind::Regular;
        self.files.iter().filter(is_regular).map(|(handle, _)| *handle).collect()
    }
}

impl File {
    pub fn new(kind: FileKind, mode: u32) -> File {
        let (target, data, older) = (Vec::new(), Vec::new(), Vec::new());
        File { kind, mode, target, data, sure_bytes: 0, older, is_loose: false, note: None }
    }

    pub fn write(&mut self, offset: usize, data: &[u8], is_sure: bool) {
        let end = offset + data.len();
        if !is_sure {
            // Bytes that are not there yet may become zeros.
            let start = offset.min(self.data.len());
            let mut before: Vec<u8> = self.data[start..].iter().take(end - start).map(|(byte, _)| *byte).collect();
            before.resize(end - start, 0);
            self.older.push((start, before));
        }
        if self.data.len() < end {
            self.data.resize(end, (0, is_sure));
        }
        for (at, byte) in data.iter().enumerate() {
            self.data[offset + at] = (*byte, is_sure);
        }
        if is_sure {
            self.sure_bytes = self.sure_bytes.max(end);
        }
    }

    fn has_unsure_bytes(&self) -> bool {
        !self.older.is_empty() || self.data.iter().any(|(_, is_sure)| !is_sure)
    }

    pub fn commit(&mut self) {
        self.data.iter_mut().for_each(|(_, is_sure)| *is_sure = true);
        self.sure_bytes = self.data.len();
        self.older.clear();
    }

    /// These bytes are there.
    pub fn settle(&mut self, found: Vec<u8>) {
        self.data = found.into_iter().map(|byte| (byte, true)).collect();
        self.commit();
        self.is_loose = false;
    }

    pub fn resize(&mut self, size: usize) {
        self.data.resize(size, (0, true));
        self.sure_bytes = size;
    }

    /// A new size is not set yet: a smaller file may have zeros behind it already, and a larger one may have grown to
    /// any size up to it.
    pub fn resize_partly(&mut self, size: usize) {
        if size > self.data.len() {
            self.data.resize(size, (0, true));
            return;
        }
        let length = self.data.len().saturating_sub(size);
        self.older.push((size, vec![0; length]));
        self.data.iter_mut().skip(size).for_each(|(_, is_sure)| *is_sure = false);
    }

    /// Why this is not what was written, if it is not.
    pub fn differs_from(&self, found: &[u8]) -> Option<String> {
        if found.len() < self.sure_bytes || found.len() > self.data.len() && !self.is_loose {
            return Some(format!("{} bytes, of {} to {}", found.len(), self.sure_bytes, self.data.len()));
        }
        let wrong = found.iter().zip(&self.data).enumerate().position(|(at, (found, (byte, is_sure)))| {
            found != byte && (self.is_there(*byte, *is_sure) || !self.may_be(at, *found))
        });
        wrong.map(|at| format!("byte {at} is {}, not {:?}", found[at], self.data[at]))
    }

    /// Whether a byte must be there. A hole need not, if the file is loose: its block may have been allocated for data
    /// that were not flushed.
    fn is_there(&self, byte: u8, is_sure: bool) -> bool {
        is_sure && !(self.is_loose && byte == 0)
    }

    /// Whether a byte that is not sure may be this one.
    fn may_be(&self, at: usize, found: u8) -> bool {
        self.is_loose
            || self
                .older
                .iter()
                .any(|(start, bytes)| at.checked_sub(*start).and_then(|at| bytes.get(at)) == Some(&found))
    }
}
