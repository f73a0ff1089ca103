use std::ops::ControlFlow;

use fs_mem::{MemFs, MemOptions};
use vfs::{
    Attributes, Context, CreateMode, Detail, FileSystem, Handle, Name, NewNode, OpenMode, Place, ReadDir, Result,
    SetAttributes, Stability,
};

pub const NOTHING: SetAttributes =
    SetAttributes { mode: None, uid: None, gid: None, size_bytes: None, accessed: None, modified: None };

/// A `MemFs` that is told what to do by paths such as `a/b`; the empty path is the root.
pub struct Shell(pub MemFs);

pub fn name(name: &str) -> Name<'_> {
    Name::new(name.as_bytes()).unwrap()
}

impl Shell {
    pub fn new() -> Shell {
        Shell(MemFs::new(MemOptions::default()))
    }

    pub fn with_capacity(capacity_bytes: u64, max_files: u64) -> Shell {
        Shell(MemFs::new(MemOptions { capacity_bytes, max_files, ..MemOptions::default() }))
    }

    pub fn handle(&self, path: &str) -> Result<Handle> {
        let parts = path.split('/').filter(|part| !part.is_empty());
        let mut dir = self.0.root();
        for part in parts {
            dir = self.0.lookup(&Context::ROOT, Place { dir, name: name(part) })?.handle;
        }
        Ok(dir)
    }

    pub fn place<'a>(&self, path: &'a str) -> Result<Place<'a>> {
        let (dir, last) = path.rsplit_once('/').unwrap_or(("", path));
        Ok(Place { dir: self.handle(dir)?, name: name(last) })
    }

    pub fn stat(&self, path: &str) -> Result<Attributes> {
        self.0.attributes(&Context::ROOT, &self.handle(path)?)
    }

    pub fn create(&self, path: &str) -> Result<Handle> {
        Ok(self.0.create(&Context::ROOT, self.place(path)?, CreateMode::Guarded, &NOTHING)?.handle)
    }

    pub fn mkdir(&self, path: &str) -> Result<Handle> {
        Ok(self.0.make_node(&Context::ROOT, self.place(path)?, NewNode::Directory, &NOTHING)?.handle)
    }

    pub fn symlink(&self, path: &str, target: &[u8]) -> Result<Handle> {
        Ok(self.0.make_node(&Context::ROOT, self.place(path)?, NewNode::Symlink(target), &NOTHING)?.handle)
    }

    pub fn link(&self, path: &str, new: &str) -> Result<Attributes> {
        self.0.link(&Context::ROOT, &self.handle(path)?, self.place(new)?)
    }

    pub fn remove(&self, path: &str) -> Result<()> {
        self.0.remove(&Context::ROOT, self.place(path)?)
    }

    pub fn rmdir(&self, path: &str) -> Result<()> {
        self.0.remove_dir(&Context::ROOT, self.place(path)?)
    }

    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.0.rename(&Context::ROOT, self.place(from)?, self.place(to)?)
    }

    pub fn resize(&self, path: &str, size_bytes: u64) -> Result<Attributes> {
        let set = SetAttributes { size_bytes: Some(size_bytes), ..NOTHING };
        self.0.set_attributes(&Context::ROOT, &self.handle(path)?, &set)
    }

    pub fn write(&self, path: &str, offset_bytes: u64, data: &[u8]) -> Result<usize> {
        let file = self.0.open(&Context::ROOT, &self.handle(path)?, OpenMode::Write)?;
        Ok(file.write_at(&Context::ROOT, offset_bytes, data, Stability::File)?.count)
    }

    pub fn read(&self, path: &str, offset_bytes: u64, length: usize) -> Result<Vec<u8>> {
        let file = self.0.open(&Context::ROOT, &self.handle(path)?, OpenMode::Read)?;
        let mut bytes = vec![0xee; length];
        let count = file.read_at(&Context::ROOT, offset_bytes, &mut bytes)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    /// Lists a directory while others change it: an entry may be gone before it is looked at.
    pub fn list_in_passing(&self, path: &str) -> Result<()> {
        let dir = self.handle(path)?;
        self.0.read_dir(&Context::ROOT, ReadDir { dir: &dir, after: 0, detail: Detail::Entries }, &mut |entry| {
            assert!(entry.entry.is_none_or(|shown| shown.attributes.fileid == entry.fileid));
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// The names and cookies after a cookie, at most `limit` of them.
    pub fn list(&self, path: &str, after: u64, limit: usize) -> Result<Vec<(String, u64)>> {
        let dir = self.handle(path)?;
        let mut found = Vec::new();
        self.0.read_dir(&Context::ROOT, ReadDir { dir: &dir, after, detail: Detail::Entries }, &mut |entry| {
            let shown = entry.entry.expect("nothing is removed during this listing");
            assert_eq!(shown.attributes.fileid, entry.fileid);
            found.push((String::from_utf8(entry.name.to_vec()).unwrap(), entry.cookie));
            if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(found)
    }
}
