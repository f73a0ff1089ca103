use std::ops::ControlFlow;
use std::sync::Arc;

use vfs::{
    Access, Acls, Attributes, Blocking, Context, CreateMode, Detail, DirEntry, EachEntry, Entry, Error, FileHold,
    FileSystem, Handle, Listing, NewNode, OpenFile, OpenMode, Place, Properties, ReadDir, Result, SetAttributes,
    SetXattr, Space, XattrName, permission,
};

use crate::create::{MAX_LINKS, Wish};
use crate::file::MemFile;
use crate::node::{Content, MemNode};
use crate::options::MemOptions;
use crate::pages::MAX_FILE_BYTES;
use crate::rename::{LockedName, rename};
use crate::volume::MemVolume;

/// The number of entries that a listing takes from a directory at once.
const LISTING_BATCH: usize = 128;

/// A file system in memory. Dropping it frees all files that are not open.
///
/// ```
/// use fs_mem::{MemFs, MemOptions};
/// use vfs::{Context, CreateMode, FileSystem, Name, Place, SetAttributes};
///
/// let fs = MemFs::new(MemOptions { capacity_bytes: 64 << 20, ..MemOptions::default() });
/// let place = Place { dir: fs.root(), name: Name::new(b"hello").unwrap() };
/// let entry = fs.create(&Context::ROOT, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
/// assert_eq!(fs.lookup(&Context::ROOT, place).unwrap(), entry);
/// ```
pub struct MemFs {
    volume: Arc<MemVolume>,
    root: Arc<MemNode>,
}

impl MemFs {
    /// Makes an empty file system.
    pub fn new(options: MemOptions) -> MemFs {
        let volume = Arc::new(MemVolume::new(&options));
        let root = MemNode::new_root(&volume, &options);
        MemFs { volume, root }
    }

    fn node(&self, handle: &Handle) -> Result<Arc<MemNode>> {
        self.volume.node(handle)
    }

    fn entry_of(&self, node: &MemNode, detail: Detail) -> Option<Entry> {
        match detail {
            Detail::Names | Detail::Kinds => None,
            Detail::Entries => Some(self.volume.entry(node)).filter(|entry| entry.attributes.links > 0),
        }
    }
}

impl FileSystem for MemFs {
    fn root(&self) -> Handle {
        self.volume.handle(self.root.id())
    }

    fn blocking(&self) -> Blocking {
        Blocking::Never
    }

    fn properties(&self) -> Properties {
        Properties {
            max_links: MAX_LINKS,
            max_file_bytes: MAX_FILE_BYTES,
            xattrs: true,
            exclusive: true,
            acls: true,
            cookie_verifier: self.volume.instance(),
            ..Properties::default()
        }
    }

    fn attributes(&self, _cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
        Ok(self.node(node)?.attributes())
    }

    fn access(&self, cx: &Context<'_>, node: &Handle, attributes: &Attributes, wanted: Access) -> Result<Access> {
        let by_mode = permission::by_mode(attributes, &cx.caller);
        // No list restricts root, and the owner's entry of a list is equal to the owner's permission bits.
        if !self.volume.has_lists() || permission::is_owner(attributes, &cx.caller) {
            return Ok(by_mode & wanted);
        }
        let by_list = self.node(node)?.read().lists.evaluate(attributes, &cx.caller);
        Ok(by_list.unwrap_or(by_mode) & wanted)
    }

    fn set_attributes(&self, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
        self.node(node)?.set(&cx.caller, set)
    }

    fn lookup(&self, _cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        let dir = self.node(&place.dir)?;
        let child = dir.read().directory()?.get(place.name.as_bytes()).cloned();
        child.map(|child| self.volume.entry(&child)).ok_or(Error::NoEntry)
    }

    fn parent(&self, _cx: &Context<'_>, dir: &Handle) -> Result<Entry> {
        let dir = self.node(dir)?;
        if !dir.is_directory() {
            return Err(Error::NotDirectory);
        }
        let parent = self.volume.table().get(dir.parent()).ok_or(Error::Stale)?;
        Ok(self.volume.entry(&parent))
    }

    fn read_link(&self, _cx: &Context<'_>, node: &Handle) -> Result<Vec<u8>> {
        match &self.node(node)?.read().content {
            Content::Symlink(target) => Ok(target.to_vec()),
            _ => Err(Error::WrongKind),
        }
    }

    fn hold(&self, _cx: &Context<'_>, node: &Handle) -> Result<FileHold> {
        Ok(Box::new(self.node(node)?))
    }

    fn open(&self, _cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        Ok(Arc::new(MemFile::open(self.node(node)?, mode)?))
    }

    fn read_dir(&self, _cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        let dir = self.node(list.dir)?;
        if !dir.read().directory()?.gave(list.after) {
            return Err(Error::BadCookie);
        }
        let mut after = list.after;
        loop {
            let children = dir.read().directory()?.after(after, LISTING_BATCH);
            let Some(last) = children.last() else { return Ok(Listing::Complete) };
            after = last.cookie;
            for child in &children {
                let entry = self.entry_of(&child.node, list.detail);
                let (name, fileid, kind) = (&*child.name, child.node.id(), Some(child.node.kind()));
                let given = DirEntry { name, fileid, cookie: child.cookie, kind, entry };
                if let ControlFlow::Break(()) = each(given) {
                    return Ok(Listing::Stopped);
                }
            }
        }
    }

    fn create(&self, cx: &Context<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        self.node(&place.dir)?.create(Wish { name: place.name, caller: &cx.caller, set }, mode)
    }

    fn make_node(&self, cx: &Context<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry> {
        self.node(&place.dir)?.make(Wish { name: place.name, caller: &cx.caller, set }, node)
    }

    fn link(&self, _cx: &Context<'_>, node: &Handle, place: Place<'_>) -> Result<Attributes> {
        let dir = self.node(&place.dir)?;
        dir.link(&self.node(node)?, place.name)
    }

    fn remove(&self, _cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        self.node(&place.dir)?.remove(place.name)
    }

    fn remove_dir(&self, _cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        self.node(&place.dir)?.remove_dir(place.name)
    }

    fn rename(&self, _cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
        let (from_dir, to_dir) = (self.node(&from.dir)?, self.node(&to.dir)?);
        let from = LockedName { dir: &from_dir, name: from.name };
        rename(&self.volume, from, LockedName { dir: &to_dir, name: to.name })
    }

    fn get_xattr(&self, _cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<Option<Vec<u8>>> {
        let node = self.node(node)?;
        node.check_xattrs()?;
        Ok(node.read().xattrs.get(name).map(<[u8]>::to_vec))
    }

    fn set_xattr(&self, _cx: &Context<'_>, node: &Handle, set: &SetXattr<'_>) -> Result<()> {
        self.node(node)?.set_xattr(set)
    }

    fn list_xattrs(&self, _cx: &Context<'_>, node: &Handle) -> Result<Vec<Box<[u8]>>> {
        let node = self.node(node)?;
        node.check_xattrs()?;
        Ok(node.read().xattrs.names())
    }

    fn remove_xattr(&self, _cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<()> {
        self.node(node)?.remove_xattr(name)
    }

    fn acls(&self, _cx: &Context<'_>, node: &Handle) -> Result<Acls> {
        Ok(self.node(node)?.acls())
    }

    fn set_acls(&self, cx: &Context<'_>, node: &Handle, acls: &Acls) -> Result<()> {
        self.node(node)?.set_acls(&cx.caller, acls)
    }

    fn space(&self, _cx: &Context<'_>, node: &Handle) -> Result<Space> {
        self.node(node)?;
        let (bytes, files) = (self.volume.bytes(), self.volume.files());
        let (free_bytes, free_files) = (bytes.free(), files.free());
        Ok(Space {
            total_bytes: bytes.limit(),
            free_bytes,
            available_bytes: free_bytes,
            total_files: files.limit(),
            free_files,
            available_files: free_files,
        })
    }
}

impl Drop for MemFs {
    /// Frees the tree level by level: freeing it recursively would need a stack as deep as the tree.
    fn drop(&mut self) {
        let mut nodes = vec![Arc::clone(&self.root)];
        while let Some(node) = nodes.pop() {
            if let Content::Directory(directory) = &mut node.write().content {
                nodes.extend(directory.clear());
            }
        }
    }
}
