use std::sync::Arc;

use vfs::{
    Access, Acls, Attributes, Blocking, Context, CreateMode, EachEntry, Entry, FileSystem, Found, Handle, Listing,
    Memory, NewNode, OpenFile, OpenMode, Place, ReadDir, Result, SetAttributes, SetXattr, Space, XattrName,
};

use crate::file::FaultFile;
use crate::rule::Site;
use crate::unsynced::Unsynced;
use crate::{FaultPlan, Operation};

/// A file system whose calls are subject to the rules of a plan before they reach the one inside.
///
/// ```
/// use std::sync::Arc;
/// use fs_fault::{FaultFs, FaultPlan};
/// use fs_mem::{MemFs, MemOptions};
/// use vfs::{Context, FileSystem};
///
/// let plan: FaultPlan = "attributes:error=io@2".parse().unwrap();
/// let fs = FaultFs::new(Arc::new(MemFs::new(MemOptions::default())), plan.clone());
/// assert!(fs.attributes(&Context::ROOT, &fs.root()).is_ok());
/// assert!(fs.attributes(&Context::ROOT, &fs.root()).is_err());
/// plan.replace(vec![]);
/// assert!(fs.attributes(&Context::ROOT, &fs.root()).is_ok());
/// ```
pub struct FaultFs<F: ?Sized> {
    inner: Arc<F>,
    plan: FaultPlan,
    /// The unsynced writes that a crash would lose, if crashes are possible.
    unsynced: Option<Arc<Unsynced>>,
}

impl<F: FileSystem + ?Sized> FaultFs<F> {
    /// Puts `plan` in front of `inner`. Keep a clone of the plan to change its rules later.
    pub fn new(inner: Arc<F>, plan: FaultPlan) -> FaultFs<F> {
        FaultFs { inner, plan, unsynced: None }
    }

    /// Like [`FaultFs::new`], but tracks unsynced writes for [`FaultFs::crash`].
    pub fn losing(inner: Arc<F>, plan: FaultPlan) -> FaultFs<F> {
        FaultFs { inner, plan, unsynced: Some(Arc::default()) }
    }

    /// Loses unsynced writes, as a crash of the machine does, and returns their number. Data of copies and clones,
    /// names and attributes are never lost. Without [`FaultFs::losing`] this does nothing.
    pub fn crash(&self) -> usize {
        self.unsynced.as_ref().map_or(0, |unsynced| unsynced.lose(&*self.inner))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<F: FileSystem + ?Sized> FileSystem for FaultFs<F> {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, changes_wait, properties, is_read_only, hold, has_local_locks,
        open_for_locks, lease_break_time, lease, maintain, losses, log_marks, set_log_mark);

    /// Never [`Blocking::Never`], because a rule with a delay may be added at any time.
    fn blocking(&self) -> Blocking {
        match self.inner.blocking() {
            Blocking::Never | Blocking::Sometimes => Blocking::Sometimes,
            Blocking::Always => Blocking::Always,
        }
    }

    fn attributes(&self, cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
        self.plan.run(cx, Site::new(Operation::Attributes), |_| self.inner.attributes(cx, node))
    }

    fn access(&self, cx: &Context<'_>, node: &Handle, attributes: &Attributes, wanted: Access) -> Result<Access> {
        self.plan.run(cx, Site::new(Operation::Access), |_| self.inner.access(cx, node, attributes, wanted))
    }

    fn set_attributes(&self, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
        let done = self.plan.run(cx, Site::new(Operation::SetAttributes), |_| self.inner.set_attributes(cx, node, set));
        // A durable size does not make data durable, but this file system treats it so.
        self.unsynced.iter().for_each(|unsynced| unsynced.synced(node));
        done
    }

    fn lookup(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        self.plan.run(cx, Site::named(Operation::Lookup, place.name), |_| self.inner.lookup(cx, place))
    }

    fn find(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Found> {
        self.plan.run(cx, Site::named(Operation::Lookup, place.name), |_| self.inner.find(cx, place))
    }

    fn parent(&self, cx: &Context<'_>, dir: &Handle) -> Result<Entry> {
        self.plan.run(cx, Site::new(Operation::Parent), |_| self.inner.parent(cx, dir))
    }

    fn read_link(&self, cx: &Context<'_>, node: &Handle) -> Result<Vec<u8>> {
        self.plan.run(cx, Site::new(Operation::ReadLink), |_| self.inner.read_link(cx, node))
    }

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        let file = self.plan.run(cx, Site::new(Operation::Open), |_| self.inner.open(cx, node, mode))?;
        let undone = match &self.unsynced {
            Some(unsynced) => Some((*node, Unsynced::open(&*self.inner, node)?, Arc::clone(unsynced))),
            None => None,
        };
        Ok(Arc::new(FaultFile::new(file, self.plan.clone(), undone)))
    }

    fn read_dir(&self, cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        self.plan.run(cx, Site::new(Operation::ReadDir), |_| self.inner.read_dir(cx, list, each))
    }

    fn create(&self, cx: &Context<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        self.plan.run(cx, Site::named(Operation::Create, place.name), |_| self.inner.create(cx, place, mode, set))
    }

    fn make_node(&self, cx: &Context<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry> {
        self.plan.run(cx, Site::named(Operation::MakeNode, place.name), |_| self.inner.make_node(cx, place, node, set))
    }

    fn link(&self, cx: &Context<'_>, node: &Handle, place: Place<'_>) -> Result<Attributes> {
        self.plan.run(cx, Site::named(Operation::Link, place.name), |_| self.inner.link(cx, node, place))
    }

    fn remove(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        self.plan.run(cx, Site::named(Operation::Remove, place.name), |_| self.inner.remove(cx, place))
    }

    fn remove_seen(&self, cx: &Context<'_>, place: Place<'_>, seen: &Entry) -> Result<()> {
        self.plan.run(cx, Site::named(Operation::Remove, place.name), |_| self.inner.remove_seen(cx, place, seen))
    }

    fn remove_dir(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        self.plan.run(cx, Site::named(Operation::RemoveDir, place.name), |_| self.inner.remove_dir(cx, place))
    }

    fn rename(&self, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
        let site = Site { operation: Operation::Rename, names: [Some(from.name), Some(to.name)] };
        self.plan.run(cx, site, |_| self.inner.rename(cx, from, to))
    }

    fn get_xattr(&self, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<Option<Vec<u8>>> {
        self.plan.run(cx, Site::new(Operation::GetXattr), |_| self.inner.get_xattr(cx, node, name))
    }

    fn set_xattr(&self, cx: &Context<'_>, node: &Handle, set: &SetXattr<'_>) -> Result<()> {
        self.plan.run(cx, Site::new(Operation::SetXattr), |_| self.inner.set_xattr(cx, node, set))
    }

    fn list_xattrs(&self, cx: &Context<'_>, node: &Handle) -> Result<Vec<Box<[u8]>>> {
        self.plan.run(cx, Site::new(Operation::ListXattrs), |_| self.inner.list_xattrs(cx, node))
    }

    fn remove_xattr(&self, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<()> {
        self.plan.run(cx, Site::new(Operation::RemoveXattr), |_| self.inner.remove_xattr(cx, node, name))
    }

    fn acls(&self, cx: &Context<'_>, node: &Handle) -> Result<Acls> {
        self.plan.run(cx, Site::new(Operation::Acls), |_| self.inner.acls(cx, node))
    }

    fn set_acls(&self, cx: &Context<'_>, node: &Handle, acls: &Acls) -> Result<()> {
        self.plan.run(cx, Site::new(Operation::SetAcls), |_| self.inner.set_acls(cx, node, acls))
    }

    fn sync_all(&self, cx: &Context<'_>) -> Result<()> {
        self.plan.run(cx, Site::new(Operation::SyncAll), |_| self.inner.sync_all(cx))?;
        self.unsynced.iter().for_each(|unsynced| unsynced.all_synced());
        Ok(())
    }

    /// Changes with each [`FaultFs::crash`], which loses what the memory of the inner one holds.
    fn memory(&self) -> Option<Memory> {
        let crashes = self.unsynced.as_ref().map_or(0, |unsynced| unsynced.crashes());
        self.inner.memory().map(|memory| Memory { number: memory.number.wrapping_add(crashes), ..memory })
    }

    fn space(&self, cx: &Context<'_>, node: &Handle) -> Result<Space> {
        self.plan.run(cx, Site::new(Operation::Space), |_| self.inner.space(cx, node))
    }
}
