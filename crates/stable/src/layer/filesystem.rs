//! [`StableFs`] as a file system.

use std::sync::Arc;

use vfs::{
    Access, Acls, Attributes, Blocking, Context, CreateMode, EachEntry, Entry, Error, FileHold, FileLease, FileSystem,
    Found, Handle, Listing, LockFile, NewNode, OnLeaseBreak, OpenFile, OpenMode, Place, Properties, ReadDir, Result,
    SetAttributes, SetXattr, Space, XattrName,
};

use super::StableFs;
use super::checks::Removal;
use super::file::StableFile;

#[deny(clippy::missing_trait_methods)]
impl FileSystem for StableFs {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, is_read_only, maintain, memory, has_local_locks, lease_break_time, losses, log_marks,
        set_log_mark);

    /// Never [`Blocking::Never`]: stable changes wait for the log.
    fn blocking(&self) -> Blocking {
        match self.inner.blocking() {
            Blocking::Never | Blocking::Sometimes => Blocking::Sometimes,
            Blocking::Always => Blocking::Always,
        }
    }

    fn changes_wait(&self) -> bool {
        self.export.waits_for_log()
    }

    fn properties(&self) -> Properties {
        let inner = self.inner.properties();
        let cookie_verifier = self.export.versions.cookie_verifier(inner.cookie_verifier);
        Properties { cookie_verifier, ..inner }
    }

    fn attributes(&self, cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
        let attributes = self.inner.attributes(cx, &self.inner_of(node)?)?;
        Ok(self.export.versions.attributes(attributes))
    }

    fn access(&self, cx: &Context<'_>, node: &Handle, attributes: &Attributes, wanted: Access) -> Result<Access> {
        self.inner.access(cx, &self.inner_of(node)?, attributes, wanted)
    }

    fn set_attributes(&self, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
        self.export.set_attributes(cx, node, set)
    }

    fn lookup(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        self.outward(self.inner.lookup(cx, self.inner_place(place)?)?)
    }

    fn find(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Found> {
        let found = self.inner.find(cx, self.inner_place(place)?)?;
        Ok(Found { entry: self.outward(found.entry)?, ..found })
    }

    fn parent(&self, cx: &Context<'_>, dir: &Handle) -> Result<Entry> {
        self.outward(self.inner.parent(cx, &self.inner_of(dir)?)?)
    }

    fn read_link(&self, cx: &Context<'_>, node: &Handle) -> Result<Vec<u8>> {
        self.inner.read_link(cx, &self.inner_of(node)?)
    }

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        let evicts = mode == OpenMode::Write && self.export.old_pages.are_doubtful();
        if evicts && !cx.may_block {
            return Err(Error::WouldBlock);
        }
        let inner = self.inner.open(cx, &self.inner_of(node)?, mode)?;
        if evicts {
            self.export.old_pages.evict(node, &*inner);
        }
        Ok(Arc::new(StableFile { inner, handle: *node, export: Arc::clone(&self.export) }))
    }

    fn hold(&self, cx: &Context<'_>, node: &Handle) -> Result<FileHold> {
        self.inner.hold(cx, &self.inner_of(node)?)
    }

    fn open_for_locks(&self, cx: &Context<'_>, node: &Handle) -> Result<Box<dyn LockFile>> {
        self.inner.open_for_locks(cx, &self.inner_of(node)?)
    }

    fn lease(&self, cx: &Context<'_>, node: &Handle, on_break: OnLeaseBreak) -> Result<Box<dyn FileLease>> {
        self.inner.lease(cx, &self.inner_of(node)?, on_break)
    }

    fn read_dir(&self, cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        let dir = self.inner_of(list.dir)?;
        let list = ReadDir { dir: &dir, ..list };
        self.inner.read_dir(cx, list, &mut |mut given| {
            given.entry = given.entry.and_then(|entry| self.outward(entry).ok());
            each(given)
        })
    }

    fn create(&self, cx: &Context<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        self.export.create(cx, place, mode, set)
    }

    fn make_node(&self, cx: &Context<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry> {
        self.export.make_node(cx, place, node, set)
    }

    fn link(&self, cx: &Context<'_>, node: &Handle, place: Place<'_>) -> Result<Attributes> {
        self.export.link(cx, node, place)
    }

    fn remove(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        let remove = |place: Place<'_>, entry: &Entry| self.inner.remove_seen(cx, place, entry);
        self.export.remove_by(cx, place, Removal::File, remove)
    }

    fn remove_seen(&self, cx: &Context<'_>, place: Place<'_>, _seen: &Entry) -> Result<()> {
        // The name may have passed to another file before this directory was held.
        self.remove(cx, place)
    }

    fn remove_dir(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        self.export.remove_by(cx, place, Removal::Directory, |place, _| self.inner.remove_dir(cx, place))
    }

    fn rename(&self, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
        self.export.rename(cx, from, to)
    }

    fn get_xattr(&self, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<Option<Vec<u8>>> {
        self.inner.get_xattr(cx, &self.inner_of(node)?, name)
    }

    fn set_xattr(&self, cx: &Context<'_>, node: &Handle, set: &SetXattr<'_>) -> Result<()> {
        self.export.set_xattr(cx, node, set)
    }

    fn list_xattrs(&self, cx: &Context<'_>, node: &Handle) -> Result<Vec<Box<[u8]>>> {
        self.inner.list_xattrs(cx, &self.inner_of(node)?)
    }

    fn remove_xattr(&self, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<()> {
        self.export.remove_xattr(cx, node, name)
    }

    fn acls(&self, cx: &Context<'_>, node: &Handle) -> Result<Acls> {
        self.inner.acls(cx, &self.inner_of(node)?)
    }

    fn set_acls(&self, cx: &Context<'_>, node: &Handle, acls: &Acls) -> Result<()> {
        self.export.set_acls(cx, node, acls)
    }

    fn sync_all(&self, cx: &Context<'_>) -> Result<()> {
        if cx.may_block { self.export.flush_all() } else { Err(Error::WouldBlock) }
    }

    fn space(&self, cx: &Context<'_>, node: &Handle) -> Result<Space> {
        self.inner.space(cx, &self.inner_of(node)?)
    }
}

impl StableFs {
    fn inner_of(&self, outer: &Handle) -> Result<Handle> {
        self.export.inner_of(outer)
    }

    fn outward(&self, entry: Entry) -> Result<Entry> {
        self.export.outward(entry)
    }

    fn inner_place<'p>(&self, place: Place<'p>) -> Result<Place<'p>> {
        Ok(Place { dir: self.inner_of(&place.dir)?, ..place })
    }
}
