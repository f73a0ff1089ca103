//! A file system that keeps the tickets of changes of names, as one with a write log does.

use std::sync::{Arc, Mutex};

use server::MadeBefore;
use vfs::{Attributes, Context, CreateMode, Entry, FileSystem, Handle, NewNode, Place, Result, SetAttributes};

pub struct Ticketed {
    inner: Arc<dyn FileSystem>,
    made: Mutex<Vec<MadeBefore>>,
}

impl Ticketed {
    pub fn new(inner: Arc<dyn FileSystem>) -> Arc<Ticketed> {
        Arc::new(Ticketed { inner, made: Mutex::default() })
    }

    /// The changes with a ticket since the last time.
    pub fn take(&self) -> Vec<MadeBefore> {
        std::mem::take(&mut *self.made.lock().unwrap())
    }

    fn keep(&self, cx: &Context<'_>, file: Option<Handle>) {
        if !cx.ticket.is_empty() {
            self.made.lock().unwrap().push(MadeBefore { ticket: cx.ticket.to_vec(), file });
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Ticketed {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        set_attributes, lookup, find, parent, read_link, open, hold, has_local_locks, open_for_locks, lease_break_time,
        lease, read_dir, get_xattr, set_xattr, list_xattrs, remove_xattr, acls, set_acls, maintain, sync_all, memory,
        space, losses, log_marks, set_log_mark);

    fn create(&self, cx: &Context<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        self.inner.create(cx, place, mode, set).inspect(|entry| self.keep(cx, Some(entry.handle)))
    }

    fn make_node(&self, cx: &Context<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry> {
        self.inner.make_node(cx, place, node, set).inspect(|entry| self.keep(cx, Some(entry.handle)))
    }

    fn link(&self, cx: &Context<'_>, file: &Handle, place: Place<'_>) -> Result<Attributes> {
        self.inner.link(cx, file, place).inspect(|_| self.keep(cx, Some(*file)))
    }

    fn remove(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        self.inner.remove(cx, place).inspect(|()| self.keep(cx, None))
    }

    fn remove_seen(&self, cx: &Context<'_>, place: Place<'_>, seen: &Entry) -> Result<()> {
        self.inner.remove_seen(cx, place, seen).inspect(|()| self.keep(cx, None))
    }

    fn remove_dir(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        self.inner.remove_dir(cx, place).inspect(|()| self.keep(cx, None))
    }

    fn rename(&self, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
        self.inner.rename(cx, from, to)?;
        self.keep(cx, Some(self.inner.lookup(cx, to)?.handle));
        Ok(())
    }
}
