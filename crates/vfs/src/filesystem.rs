use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::{
    Access, Acls, Attributes, Blocking, Context, CreateMode, EachEntry, Entry, Error, FileHold, FileLease, Found,
    Handle, Listing, LockFile, LogMark, Memory, NewNode, OnLeaseBreak, OpenFile, OpenMode, Origin, Place, Properties,
    ReadDir, Result, SetAttributes, SetXattr, Space, XattrName, permission,
};

/// A tree of files that can be served.
///
/// A read-only file system implements [`root`](FileSystem::root), [`attributes`](FileSystem::attributes),
/// [`lookup`](FileSystem::lookup), [`parent`](FileSystem::parent), [`open`](FileSystem::open) and
/// [`read_dir`](FileSystem::read_dir). All other methods have defaults.
pub trait FileSystem: Send + Sync {
    /// The top directory, which is its own parent.
    fn root(&self) -> Handle;

    /// The number of the storage behind this view, for the lifetime of the process. Two views with one number, such as
    /// a directory and one below it, have the same handle for a file in both. `None` for storage without other views.
    fn storage(&self) -> Option<u64> {
        None
    }

    /// The place of this file system's root, if other file systems may show the same storage.
    fn origin(&self) -> Option<Origin> {
        None
    }

    /// Ends this file system at these directories below its root, as if others were mounted there. A lookup of one
    /// returns [`Error::Elsewhere`]; it cannot be removed or renamed; handles of it and of directories below it are
    /// [`Error::Stale`]. This replaces earlier borders. The root itself cannot be one.
    fn set_borders(&self, origins: &[Origin]) {
        let _ = origins;
    }

    /// Whether calls wait.
    fn blocking(&self) -> Blocking {
        Blocking::Always
    }

    /// Whether every name change and every stable write currently waits for storage, and so returns
    /// [`Error::WouldBlock`](crate::Error::WouldBlock) on a thread that may not wait.
    fn changes_wait(&self) -> bool {
        false
    }

    /// The features and limits of the file system.
    fn properties(&self) -> Properties {
        Properties::default()
    }

    /// Whether nothing can be changed at present: a host directory may be mounted read-only at any time.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] when the call would wait and `cx` may not; those of the storage.
    fn is_read_only(&self, cx: &Context<'_>) -> Result<bool> {
        let _ = cx;
        Ok(false)
    }

    /// The current attributes of `node`.
    ///
    /// # Errors
    /// [`Error::Stale`] when the file was removed and nothing holds it, [`Error::BadHandle`] when the handle is not
    /// valid.
    fn attributes(&self, cx: &Context<'_>, node: &Handle) -> Result<Attributes>;

    /// Returns which of the `wanted` rights the caller has on `node` with these `attributes`.
    ///
    /// The default uses the permission bits; a file system with access lists overrides it.
    ///
    /// # Errors
    /// Those of the storage.
    fn access(&self, cx: &Context<'_>, node: &Handle, attributes: &Attributes, wanted: Access) -> Result<Access> {
        let _ = node;
        Ok(permission::by_mode(attributes, &cx.caller) & wanted)
    }

    /// Sets all of the attributes or none, and returns the resulting attributes. A change of owner, group or size by a
    /// caller other than root clears the set-id bits, as in POSIX.
    ///
    /// # Errors
    /// [`Error::ReadOnly`] without an override.
    fn set_attributes(&self, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
        let _ = (cx, node, set);
        Err(Error::ReadOnly)
    }

    /// Looks up a name.
    ///
    /// # Errors
    /// [`Error::NoEntry`], [`Error::NotDirectory`].
    fn lookup(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Entry>;

    /// Looks up a name for a caller who may not need current attributes. A file system that would have to fetch them
    /// may return earlier ones.
    ///
    /// # Errors
    /// Those of [`FileSystem::lookup`].
    fn find(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Found> {
        self.lookup(cx, place).map(|entry| Found { entry, is_current: true })
    }

    /// The parent of `dir`; the root is its own parent.
    ///
    /// # Errors
    /// [`Error::NotDirectory`].
    fn parent(&self, cx: &Context<'_>, dir: &Handle) -> Result<Entry>;

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// [`Error::WrongKind`] when `node` is not a symbolic link.
    fn read_link(&self, cx: &Context<'_>, node: &Handle) -> Result<Vec<u8>> {
        let _ = (cx, node);
        Err(Error::WrongKind)
    }

    /// Opens a regular file. The caller checks permissions for each use, not only now.
    ///
    /// # Errors
    /// [`Error::IsDirectory`] or [`Error::WrongKind`] for other files.
    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>>;

    /// Holds a regular file, so that its handle stays valid until the hold is dropped, whoever removes its names. It
    /// costs a descriptor at most. A file system without an override loses files with their last name.
    ///
    /// # Errors
    /// [`Error::NotSupported`] without an override; [`Error::Stale`] when the file is already removed; those of the
    /// storage.
    fn hold(&self, cx: &Context<'_>, node: &Handle) -> Result<FileHold> {
        let _ = (cx, node);
        Err(Error::NotSupported)
    }

    /// Whether local processes may lock files, so that clients' locks must respect theirs.
    fn has_local_locks(&self) -> bool {
        false
    }

    /// Opens a regular file to lock ranges against local processes. Only called if [`FileSystem::has_local_locks`].
    ///
    /// # Errors
    /// [`Error::NotSupported`] without an override.
    fn open_for_locks(&self, cx: &Context<'_>, node: &Handle) -> Result<Box<dyn LockFile>> {
        let _ = (cx, node);
        Err(Error::NotSupported)
    }

    /// How long the host lets a local process wait for a lease to end, before it ends it by force. `None`, the default,
    /// if files cannot be leased.
    fn lease_break_time(&self) -> Option<Duration> {
        None
    }

    /// Leases a regular file, if no local process has it open for writing. The lease breaks when a local process wants
    /// to write to the file or truncate it; that process waits until the lease ends. The lease also breaks when
    /// attributes or names of the file change, but only afterwards: that process does not wait.
    ///
    /// Calls of this file system that write to the file break the lease too, and fail with
    /// [`Error::TryLater`] until it ends.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] when a process has the file open for writing, this one included;
    /// [`Error::AccessDenied`] when this process may not lease files of others; [`Error::NotSupported`] without an
    /// override.
    fn lease(&self, cx: &Context<'_>, node: &Handle, on_break: OnLeaseBreak) -> Result<Box<dyn FileLease>> {
        let _ = (cx, node, on_break);
        Err(Error::NotSupported)
    }

    /// Passes the entries of `dir` after `cookie` (0: from the start) to `each`, until it breaks.
    ///
    /// # Errors
    /// [`Error::BadCookie`] for a cookie that does not belong to this directory.
    fn read_dir(&self, cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing>;

    /// Creates a regular file, or opens an existing one as `mode` says. Attributes missing in `set` have defaults: the
    /// caller owns the file, and its mode is 0o644, without a umask.
    ///
    /// # Errors
    /// [`Error::Exists`] as `mode` says; [`Error::ReadOnly`] without an override.
    fn create(&self, cx: &Context<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        let _ = (cx, place, mode, set);
        Err(Error::ReadOnly)
    }

    /// Creates any file other than a regular one.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Error::ReadOnly`] without an override.
    fn make_node(&self, cx: &Context<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry> {
        let _ = (cx, place, node, set);
        Err(Error::ReadOnly)
    }

    /// Adds a hard link to `node`, which is not a directory, and returns its attributes.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Error::ReadOnly`] without an override.
    fn link(&self, cx: &Context<'_>, node: &Handle, place: Place<'_>) -> Result<Attributes> {
        let _ = (cx, node, place);
        Err(Error::ReadOnly)
    }

    /// Removes a name of a file other than a directory.
    ///
    /// # Errors
    /// [`Error::IsDirectory`]; [`Error::ReadOnly`] without an override.
    fn remove(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        let _ = (cx, place);
        Err(Error::ReadOnly)
    }

    /// Removes a name like [`FileSystem::remove`]. The caller has just looked it up and found `seen`, which saves
    /// another lookup. If the name has passed to another file meanwhile, that one loses it.
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

    /// Renames `from` to `to` atomically, over any file there of the same kind (a directory must be empty).
    ///
    /// # Errors
    /// [`Error::CrossDevice`]; [`Error::Invalid`] for a directory into itself; [`Error::ReadOnly`] without an override.
    fn rename(&self, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
        let _ = (cx, from, to);
        Err(Error::ReadOnly)
    }

    /// The value of an extended attribute of a regular file or directory, if it exists. The caller checks permissions.
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
    /// [`Error::Exists`] and [`Error::NoEntry`] as its mode says; [`Error::FileTooBig`] for a value above the limit;
    /// [`Error::NoSpace`] when there is no room; [`Error::NotSupported`] without an override.
    fn set_xattr(&self, cx: &Context<'_>, node: &Handle, set: &SetXattr<'_>) -> Result<()> {
        let _ = (cx, node, set);
        Err(Error::NotSupported)
    }

    /// The names of all extended attributes, in byte order.
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
    /// [`Error::NoEntry`] when it does not exist; [`Error::NotSupported`] without an override.
    fn remove_xattr(&self, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<()> {
        let _ = (cx, node, name);
        Err(Error::NotSupported)
    }

    /// The access lists of `node`, which require no permission on the file.
    ///
    /// # Errors
    /// [`Error::NotSupported`] without an override.
    fn acls(&self, cx: &Context<'_>, node: &Handle) -> Result<Acls> {
        let _ = (cx, node);
        Err(Error::NotSupported)
    }

    /// Sets both access lists of `node`, and the nine permission bits that match its own list. The caller checks
    /// ownership. A caller outside the owning group other than root clears the set-group-id bit.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a default list of a file other than a directory; [`Error::NoSpace`] when there is no
    /// room; [`Error::NotSupported`] without an override, and for a symbolic link.
    fn set_acls(&self, cx: &Context<'_>, node: &Handle, acls: &Acls) -> Result<()> {
        let _ = (cx, node, acls);
        Err(Error::NotSupported)
    }

    /// Periodic clean-up, called every few seconds from a thread that may wait. A file system with cached open files
    /// closes those that were removed by other programs.
    fn maintain(&self) {}

    /// Flushes all changes of data and names to stable storage, whoever made them. Does nothing without an override,
    /// which is for storage that needs no flush.
    ///
    /// # Errors
    /// An error means that changes since the last success may be lost, unless another call reported them stable. It is
    /// reported once. [`Error::WouldBlock`] when the call would wait and `cx` may not.
    fn sync_all(&self, cx: &Context<'_>) -> Result<()> {
        let _ = cx;
        Ok(())
    }

    /// The memory that holds changes that are not on stable storage yet. `None`, the default, if unknown.
    fn memory(&self) -> Option<Memory> {
        None
    }

    /// How often unstable writes may have been lost since this process began: a flush failed, whoever asked for it. The
    /// number never decreases, not even when a file system is closed and opened again. Write verifiers change with it.
    fn losses(&self) -> u64 {
        0
    }

    /// The marks that [`FileSystem::set_log_mark`] stored: here, in directories above, and in those of `others` that
    /// overlap with this one. This directory is the first. Empty, the default, for what is not a directory of a host.
    fn log_marks(&self, others: &[PathBuf]) -> Result<Vec<LogMark>> {
        let _ = others;
        Ok(Vec::new())
    }

    /// Stores which write log this file system depends on, with the file system itself and hidden from clients. The
    /// mark is on stable storage when this returns.
    ///
    /// [`Error::NotSupported`], the default, where nothing can be stored.
    fn set_log_mark(&self, mark: &[u8]) -> Result<()> {
        let _ = mark;
        Err(Error::NotSupported)
    }

    /// The space of the file system around `node`.
    ///
    /// # Errors
    /// Those of the storage.
    fn space(&self, cx: &Context<'_>, node: &Handle) -> Result<Space> {
        let _ = (cx, node);
        Ok(Space::default())
    }
}
