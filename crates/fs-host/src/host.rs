use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::AtFlags;
use vfs::{
    Access, Acls, Attributes, Blocking, Context, CreateMode, EachEntry, Entry, Error, FileHold, FileKind, FileLease,
    FileSystem, Handle, Listing, LockFile, LogMark, Memory, NewNode, OnLeaseBreak, OpenFile, OpenMode, Origin, Place,
    Properties, ReadDir, Result, SetAttributes, SetXattr, Space, XattrName,
};

use crate::cache::NodeCache;
use crate::flush::FlushGroup;
use crate::form::root_handle;
use crate::handles::Handles;
use crate::held::HeldFiles;
use crate::identity::Impersonation;
use crate::lease_terms::LeaseTerms;
use crate::lookup_pace::LookupPace;
use crate::made::MadeFiles;
use crate::metadata::{KnownFiles, Listings, MetadataClock};
use crate::options::HostOptions;
use crate::read_ahead::StreamTable;
use crate::uncommitted::UncommittedFiles;
use crate::volume::{CacheKind, HostVolume};
use crate::walk::Searches;

/// A directory of the host, and what is below it.
pub struct HostFs {
    pub(crate) volume: HostVolume,
    pub(crate) handles: Handles,
    pub(crate) searches: Searches,
    pub(crate) lookup_pace: LookupPace,
    pub(crate) nodes: NodeCache,
    pub(crate) made: MadeFiles,
    pub(crate) held: Arc<HeldFiles>,
    /// Handles and names from earlier calls, where the file system's times prove them.
    pub(crate) known: Option<KnownFiles>,
    pub(crate) listings: Option<Listings>,
    pub(crate) clock: MetadataClock,
    pub(crate) identity: Impersonation,
    pub(crate) streams: StreamTable,
    pub(crate) flushes: Arc<FlushGroup>,
    pub(crate) uncommitted: Arc<UncommittedFiles>,
    pub(crate) leases: LeaseTerms,
    pub(crate) options: HostOptions,
}

impl HostFs {
    /// Puts other borders in force. Directories at hand may be behind one of them.
    fn end_at(&self, origins: &[Origin]) {
        let own = self.volume.origin();
        let inner: Vec<Origin> =
            origins.iter().filter(|origin| !origin.is_at(own.device, own.fileid)).copied().collect();
        if !self.volume.borders.are(&inner) {
            self.volume.borders.set(inner);
            self.nodes.drop_where(|node| node.kind() == FileKind::Directory);
        }
    }
}

impl FileSystem for HostFs {
    fn root(&self) -> Handle {
        root_handle()
    }

    fn blocking(&self) -> Blocking {
        Blocking::Sometimes
    }

    fn changes_wait(&self) -> bool {
        self.syncs()
    }

    fn maintain(&self) {
        self.made.tidy();
        self.uncommitted.tidy();
        self.nodes.drop_idle();
        self.release_removed();
        self.tidy_searches();
        self.tidy_store();
        self.clock.read();
        self.known.iter().for_each(KnownFiles::tidy);
        self.listings.iter().for_each(Listings::tidy);
        self.leases.refresh();
    }

    fn properties(&self) -> Properties {
        self.volume.properties()
    }

    fn is_read_only(&self, cx: &Context<'_>) -> Result<bool> {
        if !cx.may_block && self.volume.cache_kind() == CacheKind::Unknown {
            return Err(Error::WouldBlock);
        }
        self.volume.is_read_only()
    }

    fn attributes(&self, cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
        self.attributes_of(cx, node)
    }

    fn access(&self, cx: &Context<'_>, node: &Handle, attributes: &Attributes, wanted: Access) -> Result<Access> {
        Ok(self.allowed(cx, node, attributes)? & wanted)
    }

    fn set_attributes(&self, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
        self.set(cx, node, set)
    }

    fn lookup(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        self.look_up(cx, place)
    }

    fn parent(&self, cx: &Context<'_>, dir: &Handle) -> Result<Entry> {
        self.parent_of(cx, dir)
    }

    fn read_link(&self, cx: &Context<'_>, node: &Handle) -> Result<Vec<u8>> {
        self.target_of(cx, node)
    }

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        self.open_regular(cx, node, mode)
    }

    fn storage(&self) -> Option<u64> {
        self.handles.storage(&self.volume)
    }

    fn hold(&self, cx: &Context<'_>, node: &Handle) -> Result<FileHold> {
        self.hold_file(cx, node)
    }

    fn origin(&self) -> Option<Origin> {
        Some(self.volume.origin())
    }

    fn set_borders(&self, origins: &[Origin]) {
        self.end_at(origins);
    }

    fn has_local_locks(&self) -> bool {
        true
    }

    fn open_for_locks(&self, cx: &Context<'_>, node: &Handle) -> Result<Box<dyn LockFile>> {
        self.open_lock_file(cx, node)
    }

    fn lease_break_time(&self) -> Option<Duration> {
        self.leases.break_time()
    }

    fn lease(&self, cx: &Context<'_>, node: &Handle, on_break: OnLeaseBreak) -> Result<Box<dyn FileLease>> {
        self.take_lease(cx, node, on_break)
    }

    fn read_dir(&self, cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        self.list(cx, &list, each)
    }

    fn create(&self, cx: &Context<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        self.create_regular(cx, place, mode, set)
    }

    fn make_node(&self, cx: &Context<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry> {
        self.make(cx, place, node, set)
    }

    fn link(&self, cx: &Context<'_>, node: &Handle, place: Place<'_>) -> Result<Attributes> {
        self.add_name(cx, node, place)
    }

    fn remove(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        self.remove_name(cx, place, AtFlags::empty())
    }

    fn remove_seen(&self, cx: &Context<'_>, place: Place<'_>, seen: &Entry) -> Result<()> {
        self.remove_seen_name(cx, place, seen)
    }

    fn remove_dir(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        self.remove_name(cx, place, AtFlags::REMOVEDIR)
    }

    fn rename(&self, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
        self.move_name(cx, from, to)
    }

    fn get_xattr(&self, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<Option<Vec<u8>>> {
        self.xattr(cx, node, name)
    }

    fn set_xattr(&self, cx: &Context<'_>, node: &Handle, set: &SetXattr<'_>) -> Result<()> {
        self.put_xattr(cx, node, set)
    }

    fn list_xattrs(&self, cx: &Context<'_>, node: &Handle) -> Result<Vec<Box<[u8]>>> {
        self.xattr_names(cx, node)
    }

    fn remove_xattr(&self, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<()> {
        self.take_xattr(cx, node, name)
    }

    fn acls(&self, cx: &Context<'_>, node: &Handle) -> Result<Acls> {
        self.acls_of(cx, node)
    }

    fn set_acls(&self, cx: &Context<'_>, node: &Handle, acls: &Acls) -> Result<()> {
        self.put_acls(cx, node, acls)
    }

    fn sync_all(&self, cx: &Context<'_>) -> Result<()> {
        self.settle_all(cx)
    }

    fn memory(&self) -> Option<Memory> {
        self.volume.memory()
    }

    fn log_marks(&self, others: &[PathBuf]) -> Result<Vec<LogMark>> {
        self.read_log_marks(others)
    }

    fn set_log_mark(&self, mark: &[u8]) -> Result<()> {
        self.write_log_mark(mark)
    }

    fn losses(&self) -> u64 {
        self.flushes.losses()
    }

    fn space(&self, _cx: &Context<'_>, _node: &Handle) -> Result<Space> {
        self.volume.space()
    }
}
