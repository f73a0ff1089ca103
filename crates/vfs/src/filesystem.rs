use std::sync::Arc;

use crate::{
    Access, Acls, Attributes, Blocking, Context, CreateMode, EachEntry, Entry, Error, Found, Handle, Listing, LockFile,
    NewNode, OpenFile, OpenMode, Origin, Place, Properties, ReadDir, Result, SetAttributes, SetXattr, Space, XattrName,
    permission,
};

/// A tree of files that can be served.
///
/// A read-only file system implements [`root`](FileSystem::root), [`attributes`](FileSystem::attributes),
/// [`lookup`](FileSystem::lookup), [`parent`](FileSystem::parent), [`open`](FileSystem::open) and
/// [`read_dir`](FileSystem::read_dir); everything else has an answer already.
pub trait FileSystem: Send + Sync {
    /// The directory at the top. There is no way out of it upwards: it is its own parent.
    fn root(&self) -> Handle;

    /// The number of the storage that this is a view of, for the lifetime of the process: two views with one number, such as a
    /// directory and one below it, name a file that is in both by one handle. `None` for what no other view shows.
    fn storage(&self) -> Option<u64> {
        None
    }

    /// Where this file system begins, as long as it is a view of storage that other file systems may show too.
    fn origin(&self) -> Option<Origin> {
        None
    }

    /// Ends this file system at these directories, wherever they are below its root, as if others were mounted there:
    /// looking one of them up is [`Error::Elsewhere`], it cannot be removed or moved, and handles of it and of
    /// directories below it are [`Error::Stale`]. Earlier borders are lifted. The root itself is no border.
    fn set_borders(&self, origins: &[Origin]) {
        let _ = origins;
    }

    /// Whether calls wait.
    fn blocking(&self) -> Blocking {
        Blocking::Always
    }

    /// Whether every change of names and every stable write waits for storage now, so that on a thread that may not wait it is
    /// answered with [`Error::WouldBlock`](crate::Error::WouldBlock).
    fn changes_wait(&self) -> bool {
        false
    }

    /// What the file system can do.
    fn properties(&self) -> Properties {
        Properties::default()
    }

    /// The attributes of `node` as they are now.
    ///
    /// # Errors
    /// [`Error::Stale`] when the file is gone, [`Error::BadHandle`] when there never was one.
    fn attributes(&self, cx: &Context<'_>, node: &Handle) -> Result<Attributes>;

    /// Which of the `wanted` ways to use `node` the caller has, given its `attributes`.
    ///
    /// The answer without an override is that of the permission bits; a file system with access lists overrides it.
    ///
    /// # Errors
    /// Whatever the storage says.
    fn access(&self, cx: &Context<'_>, node: &Handle, attributes: &Attributes, wanted: Access) -> Result<Access> {
        let _ = node;
        Ok(permission::by_mode(attributes, &cx.caller) & wanted)
    }

    /// Sets attributes, all or none, and returns them all as they are afterwards. A caller who is not the superuser and
    /// changes owner, group or size clears the set-id bits, as POSIX asks.
    ///
    /// # Errors
    /// [`Error::ReadOnly`] without an override.
    fn set_attributes(&self, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
        let _ = (cx, node, set);
        Err(Error::ReadOnly)
    }

    /// The file that `place` names.
    ///
    /// # Errors
    /// [`Error::NoEntry`], [`Error::NotDirectory`].
    fn lookup(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Entry>;

    /// The file that `place` names, for one who may not want to know what it is like: a file system that would have to ask somebody else
    /// for that may tell what it was like before.
    ///
    /// # Errors
    /// As those of [`FileSystem::lookup`].
    fn find(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Found> {
        self.lookup(cx, place).map(|entry| Found { entry, is_current: true })
    }

    /// The directory above `dir`; the root's is the root itself.
    ///
    /// # Errors
    /// [`Error::NotDirectory`].
    fn parent(&self, cx: &Context<'_>, dir: &Handle) -> Result<Entry>;

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// [`Error::WrongKind`] when `node` is none.
    fn read_link(&self, cx: &Context<'_>, node: &Handle) -> Result<Vec<u8>> {
        let _ = (cx, node);
        Err(Error::WrongKind)
    }

    /// Opens a regular file. Permissions were checked by the caller, once for each use and not only now.
    ///
    /// # Errors
    /// [`Error::IsDirectory`] or [`Error::WrongKind`] for anything but a regular file.
    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>>;

    /// Whether local processes may lock files, so that clients' locks and theirs must meet.
    fn has_local_locks(&self) -> bool {
        false
    }

    /// Opens a regular file to lock ranges of it against local processes. It is called only where there may be some.
    ///
    /// # Errors
    /// [`Error::NotSupported`] without an override.
    fn open_for_locks(&self, cx: &Context<'_>, node: &Handle) -> Result<Box<dyn LockFile>> {
        let _ = (cx, node);
        Err(Error::NotSupported)
    }

    /// Gives the entries of `dir` that come after `cookie` (0: from the start) to `each`, until it breaks.
    ///
    /// # Errors
    /// [`Error::BadCookie`] for a cookie that this directory never gave.
    fn read_dir(&self, cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing>;

    /// Makes a regular file, or finds it there as `mode` says. The new file's attributes are those of `set` where it
    /// names them; else the caller owns it and its mode is 0o644 less nothing.
    ///
    /// # Errors
    /// [`Error::Exists`] as `mode` says; [`Error::ReadOnly`] without an override.
    fn create(&self, cx: &Context<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        let _ = (cx, place, mode, set);
        Err(Error::ReadOnly)
    }

    /// Makes anything but a regular file.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Error::ReadOnly`] without an override.
    fn make_node(&self, cx: &Context<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry> {
        let _ = (cx, place, node, set);
        Err(Error::ReadOnly)
    }

    /// Gives `node`, which is not a directory, a further name, and returns its attributes.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Error::ReadOnly`] without an override.
    fn link(&self, cx: &Context<'_>, node: &Handle, place: Place<'_>) -> Result<Attributes> {
        let _ = (cx, node, place);
        Err(Error::ReadOnly)
    }

    /// Removes a name that is not a directory's.
    ///
    /// # Errors
    /// [`Error::IsDirectory`]; [`Error::ReadOnly`] without an override.
    fn remove(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        let _ = (cx, place);
        Err(Error::ReadOnly)
    }

    /// Removes a name like [`FileSystem::remove`], which was seen to be that of `seen` just now: so it need not be found out again
    /// which file loses it. If the name has passed to another file meanwhile, that one loses it.
    ///
    /// # Errors
    /// Those of [`FileSystem::remove`].
    fn remove_seen(&self, cx: &Context<'_>, place: Place<'_>, seen: &Entry) -> Result<()> {
        let _ = seen;
        self.remove(cx, place)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// [`Error::NotDirectory`], [`Error::NotEmpty`]; [`Error::ReadOnly`] without an override.
    fn remove_dir(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        let _ = (cx, place);
        Err(Error::ReadOnly)
    }

    /// Moves `from` to `to` in one step, over what is there if that is of the same kind (and, if a directory, empty).
    ///
    /// # Errors
    /// [`Error::CrossDevice`]; [`Error::Invalid`] for a directory into itself; [`Error::ReadOnly`] without an override.
    fn rename(&self, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
        let _ = (cx, from, to);
        Err(Error::ReadOnly)
    }

    /// The value of an extended attribute of a regular file or a directory, if it has that one. Permissions were checked by
    /// the caller.
    ///
    /// # Errors
    /// [`Error::NotSupported`] without an override.
    fn get_xattr(&self, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<Option<Vec<u8>>> {
        let _ = (cx, node, name);
        Err(Error::NotSupported)
    }

    /// Sets an extended attribute.
    ///
    /// # Errors
    /// [`Error::Exists`] and [`Error::NoEntry`] as its mode says; [`Error::FileTooBig`] for a value that is larger than any
    /// can be, [`Error::NoSpace`] when there is no room for it; [`Error::NotSupported`] without an override.
    fn set_xattr(&self, cx: &Context<'_>, node: &Handle, set: &SetXattr<'_>) -> Result<()> {
        let _ = (cx, node, set);
        Err(Error::NotSupported)
    }

    /// The names of all extended attributes, in the order of their bytes.
    ///
    /// # Errors
    /// [`Error::NotSupported`] without an override.
    fn list_xattrs(&self, cx: &Context<'_>, node: &Handle) -> Result<Vec<Box<[u8]>>> {
        let _ = (cx, node);
        Err(Error::NotSupported)
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// [`Error::NoEntry`] when there is none of that name; [`Error::NotSupported`] without an override.
    fn remove_xattr(&self, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<()> {
        let _ = (cx, node, name);
        Err(Error::NotSupported)
    }

    /// The access lists of `node`. Everybody who sees the file may know them.
    ///
    /// # Errors
    /// [`Error::NotSupported`] without an override.
    fn acls(&self, cx: &Context<'_>, node: &Handle) -> Result<Acls> {
        let _ = (cx, node);
        Err(Error::NotSupported)
    }

    /// Sets both access lists of `node`, and the nine permission bits that go with the one for the file itself. That the
    /// caller is its owner was checked. A caller outside the owning group who is not the superuser clears the set-group-id bit.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a default list of anything but a directory; [`Error::NoSpace`] when there is no room;
    /// [`Error::NotSupported`] without an override, and for a symbolic link.
    fn set_acls(&self, cx: &Context<'_>, node: &Handle, acls: &Acls) -> Result<()> {
        let _ = (cx, node, acls);
        Err(Error::NotSupported)
    }

    /// Tidies up: called every few seconds from a thread that may wait. A file system that keeps files open lets go here of
    /// those that were removed behind its back.
    fn maintain(&self) {}

    /// Brings all changes of data and names, by whomever, to stable storage. Nothing is done without an override, as
    /// for storage that is always as stable as it gets.
    ///
    /// # Errors
    /// An error means that changes since the last success may be lost, unless another call reported them stable. It is
    /// reported once. [`Error::WouldBlock`] when the call would wait and `cx` may not.
    fn sync_all(&self, cx: &Context<'_>) -> Result<()> {
        let _ = cx;
        Ok(())
    }

    /// Names the memory that holds changes which are not on stable storage yet. The number stays the same, also after
    /// a restart of the process, as long as none of these changes can have been lost. `None`, as without an override,
    /// where that is not known.
    fn memory(&self) -> Option<u64> {
        None
    }

    /// How full the file system around `node` is.
    ///
    /// # Errors
    /// Whatever the storage says.
    fn space(&self, cx: &Context<'_>, node: &Handle) -> Result<Space> {
        let _ = (cx, node);
        Ok(Space::default())
    }
}
