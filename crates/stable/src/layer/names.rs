//! Changes of names and attributes.

use vfs::{
    Acls, Attributes, Context, CreateMode, Entry, Error, Handle, NewNode, Place, Result, SetAttributes, SetXattr,
    XattrName,
};

use super::checks::Removal;
use super::{FlushCount, LoggedExport, Pending, now_ns, ns};
use crate::log::Ahead;
use crate::record::{Change, FileId, KeptAttributes, Make, Move, NamedFile, NodeKind, Resize, Set, Xattr, acls_bytes};

impl LoggedExport {
    fn inner_place<'p>(&self, place: Place<'p>) -> Result<Place<'p>> {
        Ok(Place { dir: self.inner_of(&place.dir)?, ..place })
    }

    /// When a directory was modified, which a replay sets again, in nanoseconds since 1970.
    fn modified(&self, place: &Place<'_>) -> u64 {
        let now = self.inner_of(&place.dir).and_then(|dir| self.inner.attributes(&Context::ROOT, &dir));
        now.map_or_else(|_| now_ns(), |now| ns(now.modified))
    }

    /// Creates a regular file, or opens an existing one.
    pub(super) fn create(
        &self,
        cx: &Context<'_>,
        place: Place<'_>,
        mode: CreateMode,
        set: &SetAttributes,
    ) -> Result<Entry> {
        let held = self.hold_name(cx, &place)?;
        // The size of an existing file is set in the same way as any other.
        let (made_with, size_bytes) = match mode {
            CreateMode::Unchecked => (SetAttributes { size_bytes: None, ..*set }, set.size_bytes),
            CreateMode::Guarded | CreateMode::Exclusive(_) => (*set, None),
        };
        let flushes = self.volume.unsynced.flushes();
        let entry = self.outward(self.inner.create(cx, self.inner_place(place)?, mode, &made_with)?)?;
        // Another client that found the new name may have written more by now: that has records, too.
        let node =
            made_with.size_bytes.map_or(NodeKind::Regular, |_| NodeKind::RegularOfSize(entry.attributes.size_bytes));
        let pending = self.append_made(cx, (place, &entry, node), &[]);
        self.note_attributes(&entry.handle, &entry.attributes, (&pending, flushes));
        drop(held);
        self.settle(&pending)?;
        if size_bytes.is_none_or(|size_bytes| size_bytes == entry.attributes.size_bytes) {
            return Ok(entry);
        }
        // An event loop that may not wait here retries on another thread, and finds the file.
        let set = SetAttributes { size_bytes, ..SetAttributes::default() };
        Ok(Entry { attributes: self.set_attributes(cx, &entry.handle, &set)?, ..entry })
    }

    pub(super) fn make_node(
        &self,
        cx: &Context<'_>,
        place: Place<'_>,
        node: NewNode<'_>,
        set: &SetAttributes,
    ) -> Result<Entry> {
        let held = self.hold_name(cx, &place)?;
        let flushes = self.volume.unsynced.flushes();
        let entry = self.outward(self.inner.make_node(cx, self.inner_place(place)?, node, set)?)?;
        let target = if let NewNode::Symlink(target) = node { target } else { &[] };
        let pending = self.append_made(cx, (place, &entry, NodeKind::of(node)), target);
        self.note_attributes(&entry.handle, &entry.attributes, (&pending, flushes));
        drop(held);
        self.settle(&pending)?;
        Ok(entry)
    }

    pub(super) fn set_attributes(&self, cx: &Context<'_>, file: &Handle, set: &SetAttributes) -> Result<Attributes> {
        let held = self.hold_file(cx, file)?;
        let inside = self.inner_of(file)?;
        let before = self.inner.attributes(&Context::ROOT, &inside)?;
        self.order(ns(before.changed));
        let make = || self.inner.set_attributes(cx, &inside, set);
        let flushes = self.volume.unsynced.flushes();
        let after = match set.size_bytes {
            Some(size_bytes) => {
                self.clear_set_id_ahead(cx, file)?;
                let old_end = self.old_end(|| Ok(before))?;
                let resize = Change::Resize(Resize { file: FileId(*file), size_bytes });
                let after = self.log_ahead(cx, resize, make)?;
                self.append_late_zeros(cx, file, old_end, &after);
                self.volume.unsynced.logged(file, self.log.end(), flushes);
                after
            }
            None => make()?,
        };
        let pending = self.append_attributes(cx, file, &after);
        self.note_attributes(file, &after, (&pending, flushes));
        drop(held);
        self.settle(&pending)?;
        Ok(self.versions.attributes(after))
    }

    pub(super) fn link(&self, cx: &Context<'_>, file: &Handle, place: Place<'_>) -> Result<Attributes> {
        let held = self.hold_name(cx, &place)?;
        let attributes = self.inner.link(cx, &self.inner_of(file)?, self.inner_place(place)?)?;
        let pending = self.append_at(cx, self.modified(&place), Change::Link(named(place, file)), &[]);
        drop(held);
        self.settle(&pending)?;
        Ok(self.versions.attributes(attributes))
    }

    /// Removes a name with `remove`, which gets the place and the file with handles of the file system inside.
    pub(super) fn remove_by(
        &self,
        cx: &Context<'_>,
        place: Place<'_>,
        what: Removal,
        remove: impl FnOnce(Place<'_>, &Entry) -> Result<()>,
    ) -> Result<()> {
        let _held = self.hold_name(cx, &place)?;
        let inside = self.inner_place(place)?;
        let entry = self.inner.lookup(cx, inside)?;
        self.check_removal(cx, &entry, what)?;
        let change = Change::Remove(named(place, &self.outer_of(&entry.handle)?));
        self.log_ahead(cx, change, || remove(inside, &entry))
    }

    pub(super) fn rename(&self, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
        let _held = self.hold_by(cx, |locks, may_wait| locks.hold_names([&from, &to], may_wait))?;
        let (inner_from, inner_to) = (self.inner_place(from)?, self.inner_place(to)?);
        let moved = self.known_at(cx, inner_from)?.ok_or(Error::NoEntry)?;
        let replaced = self.known_at(cx, inner_to)?;
        if replaced.is_some_and(|replaced| replaced.handle == moved.handle) {
            // Both names lead to one file: POSIX rename does nothing.
            return self.inner.rename(cx, inner_from, inner_to);
        }
        let new_dir = (inner_from.dir != inner_to.dir).then_some(inner_to.dir);
        self.check_rename(cx, &moved, replaced.as_ref(), new_dir)?;
        let file = self.outer_of(&moved.handle)?;
        let replaced = replaced.map(|replaced| self.outer_of(&replaced.handle)).transpose()?;
        let replaced = replaced.map_or_else(FileId::none, FileId);
        let change = Move { from: named(from, &file), to_dir: FileId(to.dir), to_name: to.name.as_bytes(), replaced };
        self.log_ahead(cx, Change::Move(change), || self.inner.rename(cx, inner_from, inner_to))
    }

    /// Makes a change after its record is durable. When storage has lost a file or bytes, only the log can tell whether
    /// the change had been made.
    fn log_ahead<T>(&self, cx: &Context<'_>, change: Change<'_>, make: impl FnOnce() -> Result<T>) -> Result<T> {
        let ahead = self.append_ahead(cx, change);
        let end = ahead.as_ref().map(Ahead::end);
        self.settle(&end.map_or(Pending::Unlogged, Pending::Logged))?;
        let made = make();
        drop(ahead);
        match end {
            // The log's device may have failed after the record was durable.
            Some(_) if made.is_ok() && !self.log.has_failed() => made,
            Some(end) if made.is_err() => {
                let cancelled = self.append(cx, Change::Cancelled(end.bytes()), &[]);
                self.settle(&cancelled).and(made)
            }
            _ => made.and_then(|made| self.settle(&Pending::Unlogged).map(|()| made)),
        }
    }

    /// Returns the file inside that a name leads to.
    fn known_at(&self, cx: &Context<'_>, inside: Place<'_>) -> Result<Option<Entry>> {
        match self.inner.find(cx, inside) {
            Ok(found) => Ok(Some(found.entry)),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn set_xattr(&self, cx: &Context<'_>, file: &Handle, set: &SetXattr<'_>) -> Result<()> {
        let xattr = Xattr { file: FileId(*file), name: set.name.as_bytes() };
        let change = Logged { change: Change::SetXattr(xattr), payload: set.value };
        self.change_file(cx, file, change, |inner| self.inner.set_xattr(cx, inner, set))
    }

    pub(super) fn remove_xattr(&self, cx: &Context<'_>, file: &Handle, name: XattrName<'_>) -> Result<()> {
        let xattr = Xattr { file: FileId(*file), name: name.as_bytes() };
        let change = Logged { change: Change::RemoveXattr(xattr), payload: &[] };
        self.change_file(cx, file, change, |inner| self.inner.remove_xattr(cx, inner, name))
    }

    pub(super) fn set_acls(&self, cx: &Context<'_>, file: &Handle, acls: &Acls) -> Result<()> {
        let held = self.hold_file(cx, file)?;
        let inside = self.inner_of(file)?;
        let flushes = self.volume.unsynced.flushes();
        self.inner.set_acls(cx, &inside, acls)?;
        // A list sets the mode: an earlier one in the log is obsolete.
        let after = self.inner.attributes(&Context::ROOT, &inside)?;
        let at = self.order(ns(after.changed));
        self.append_at(cx, at, Change::SetAcls(FileId(*file)), acls_bytes(acls).as_slice());
        let pending = self.append_attributes(cx, file, &after);
        self.note_attributes(file, &after, (&pending, flushes));
        drop(held);
        self.settle(&pending)
    }

    fn change_file(
        &self,
        cx: &Context<'_>,
        file: &Handle,
        Logged { change, payload }: Logged<'_>,
        make: impl FnOnce(&Handle) -> Result<()>,
    ) -> Result<()> {
        let held = self.hold_file(cx, file)?;
        let flushes = self.volume.unsynced.flushes();
        make(&self.inner_of(file)?)?;
        let pending = self.append_at(cx, self.order(now_ns()), change, payload);
        self.note_record(file, &pending, flushes);
        drop(held);
        self.settle(&pending)
    }

    /// Appends the record of a file's attributes, at its ctime: a replay compares that with the one that storage has.
    fn append_attributes(&self, cx: &Context<'_>, file: &Handle, after: &Attributes) -> Pending {
        let set = Set { file: FileId(*file), after: KeptAttributes::of(after) };
        self.append_at(cx, self.order(ns(after.changed)), Change::Set(set), &[])
    }

    /// Appends the records of a new file.
    fn append_made(
        &self,
        cx: &Context<'_>,
        (place, entry, node): (Place<'_>, &Entry, NodeKind),
        target: &[u8],
    ) -> Pending {
        let pending = self.append_at(cx, self.modified(&place), made(place, entry, node), target);
        let is_made_at_once = entry.attributes.created == Some(entry.attributes.changed);
        if is_made_at_once && !matches!(node, NodeKind::RegularOfSize(_)) {
            return pending;
        }
        // Storage may have the file as it was before it got all attributes. The file is not held: another client may
        // have set others since.
        let at = self.order(ns(entry.attributes.changed));
        self.append_at(&Context { ticket: &[], ..*cx }, at, Change::Whole(FileId(entry.handle)), &[])
    }

    /// Notes that the log has these attributes of a file, as [`LoggedExport::note_record`] does.
    fn note_attributes(&self, file: &Handle, after: &Attributes, (pending, flushes): (&Pending, FlushCount)) {
        self.note_record(file, pending, flushes);
        self.note_mode(file, after.mode);
    }

    /// Notes that the log has data or attributes of a file; `flushes` was counted before they were read or written.
    pub(super) fn note_record(&self, file: &Handle, pending: &Pending, flushes: FlushCount) {
        if let Pending::Logged(end) = pending {
            self.volume.unsynced.logged(file, *end, flushes);
        }
    }
}

/// A change with its data.
struct Logged<'r> {
    change: Change<'r>,
    payload: &'r [u8],
}

fn made<'r>(place: Place<'r>, entry: &Entry, node: NodeKind) -> Change<'r> {
    let attributes = &entry.attributes;
    Change::Make(Make {
        named: named(place, &entry.handle),
        node,
        fileid: attributes.fileid,
        born: attributes.created.unwrap_or_default().into(),
        after: KeptAttributes::of(attributes),
    })
}

fn named<'r>(place: Place<'r>, file: &Handle) -> NamedFile<'r> {
    NamedFile { dir: FileId(place.dir), name: place.name.as_bytes(), file: FileId(*file) }
}
