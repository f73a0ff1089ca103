//! A mounted export as a [`vfs::FileSystem`], to serve, mount or copy it like any other file system.
#![forbid(unsafe_code)]

mod attributes;
mod call;
mod caller_runtime;
mod copies;
mod create;
mod handles;
mod hold;
mod identity;
mod late;
mod lockers;
mod locks;
mod name_locks;
mod names;
mod open;
mod open_file;
mod opens;
mod read_dir;
mod remote_file;
mod remove;
mod rename;
mod shared;
mod space;
mod status;
mod sync_all;
mod xattrs;

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock};

use client_files::Mount;
use tokio::runtime;
use tokio::sync::Semaphore;
use vfs::{
    Access, Attributes, Blocking, Context, CreateMode, EachEntry, Entry, FileHold, FileSystem, Found, Handle, Listing,
    NewNode, OpenFile, OpenMode, Place, Properties, ReadDir, Result, SetAttributes, SetXattr, Space, XattrName,
};

pub use caller_runtime::CallerRuntime;
use caller_runtime::Reactor;
use handles::Handles;
use lockers::Lockers;
use name_locks::NameLocks;
use opens::Opens;
use shared::Shared;

/// The most hidden names whose removal failed and is retried.
const MAX_HIDDEN_RETRIES: usize = 1024;

/// A mounted export as a file system with blocking calls.
///
/// A call waits for the server on the caller's thread; the connections run on the given runtime. A call on a thread
/// that runs tasks fails with an error that says so.
///
/// **Identity.** On a superuser's mount, every call is sent with its caller's credentials ([`Mount::acting_as`]), and
/// calls on an open file with those of its opener. Any other mount keeps its own
/// [`Credentials`](client_files::Credentials). For callers with another user ID, [`FileSystem::access`] grants only
/// what the permission bits grant them, too.
///
/// **Handles** are numbers made from the server's handles, so a file has the same number in every process that mounts
/// it. The table holds the last [`RemoteFs::MAX_HANDLES`] files and all open ones. The number of an evicted file is
/// [`vfs::Error::Stale`] until it is looked up again. A process that re-exports the file system knows only the root
/// after a restart: its clients have stale handles until they look up their paths again.
///
/// **Open files that are removed** stay usable: if this object has a file open, removing its last name renames it to
/// `.nfs` and a number, and closing the file removes that name.
///
/// ```no_run
/// # async fn example() -> client::Result<()> {
/// use client::{Mount, Options, RemoteFs};
/// use vfs::{Context, FileSystem};
///
/// let url = "nfs://localhost/export?version=4.2".parse().unwrap();
/// let mount = Mount::connect(&url, &Options::default()).await?;
/// let files = RemoteFs::new(mount, tokio::runtime::Handle::current());
/// std::thread::spawn(move || println!("{:?}", files.attributes(&Context::ROOT, &files.root())));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RemoteFs(Arc<Shared>);

impl RemoteFs {
    /// The most files known by their numbers, besides open ones.
    pub const MAX_HANDLES: usize = 262_144;

    /// Makes a file system of a mount, whose tasks run on `runtime`. The runtime must have threads of its own, and
    /// outlive the file system.
    pub fn new(mount: Mount, runtime: runtime::Handle) -> RemoteFs {
        let root = *mount.root();
        RemoteFs::rooted_at(mount, &root, runtime)
    }

    /// Makes a file system of a directory in a mount, such as one that a [`Url`](client_files::Url) names.
    pub fn rooted_at(mount: Mount, root: &client_files::Entry, runtime: runtime::Handle) -> RemoteFs {
        RemoteFs::with_reactor(mount, root, Reactor::Threads(runtime))
    }

    /// Like [`RemoteFs::rooted_at`], on a runtime that is run by the callers: fewer switches between threads for each
    /// call.
    pub fn run_by_callers(mount: Mount, root: &client_files::Entry, runtime: Arc<CallerRuntime>) -> RemoteFs {
        RemoteFs::with_reactor(mount, root, Reactor::Callers(runtime))
    }

    fn with_reactor(mount: Mount, root: &client_files::Entry, runtime: Reactor) -> RemoteFs {
        let handles = Handles::new(root, Self::MAX_HANDLES);
        let opens = Opens::default();
        let (limits, hidden_names) = (OnceLock::new(), AtomicU32::new(0));
        let (locks, name_locks) = (Lockers::default(), NameLocks::default());
        let name_seed = RandomState::new().hash_one(0);
        RemoteFs(Arc::new(Shared {
            mount,
            runtime,
            handles,
            opens,
            limits,
            locks,
            name_locks,
            name_seed,
            hidden_names,
            hidden_retries: Arc::new(Semaphore::new(MAX_HIDDEN_RETRIES)),
        }))
    }

    /// The mount.
    pub fn mount(&self) -> &Mount {
        &self.0.mount
    }
}

impl FileSystem for RemoteFs {
    fn root(&self) -> Handle {
        Handles::ROOT.into()
    }

    fn blocking(&self) -> Blocking {
        Blocking::Always
    }

    fn properties(&self) -> Properties {
        space::properties(&self.0)
    }

    fn attributes(&self, cx: &Context<'_>, node: &Handle) -> Result<Attributes> {
        attributes::get(&self.0, cx, node)
    }

    fn access(&self, cx: &Context<'_>, node: &Handle, attributes: &Attributes, wanted: Access) -> Result<Access> {
        identity::access(&self.0, cx, node, attributes, wanted)
    }

    fn set_attributes(&self, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> Result<Attributes> {
        attributes::set(&self.0, cx, node, &self.0.storable(set))
    }

    fn lookup(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        names::lookup(&self.0, cx, place)
    }

    fn find(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Found> {
        names::find(&self.0, cx, place)
    }

    fn parent(&self, cx: &Context<'_>, dir: &Handle) -> Result<Entry> {
        names::parent(&self.0, cx, dir)
    }

    fn read_link(&self, cx: &Context<'_>, node: &Handle) -> Result<Vec<u8>> {
        names::read_link(&self.0, cx, node)
    }

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        Ok(open::open(&self.0, cx, node, mode)?)
    }

    fn hold(&self, _cx: &Context<'_>, node: &Handle) -> Result<FileHold> {
        Ok(Box::new(hold::hold(&self.0, node)?))
    }

    fn read_dir(&self, cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        read_dir::read_dir(&self.0, cx, list, each)
    }

    fn create(&self, cx: &Context<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> Result<Entry> {
        create::create(&self.0, cx, place, mode, &self.0.storable(set))
    }

    fn make_node(&self, cx: &Context<'_>, place: Place<'_>, node: NewNode<'_>, set: &SetAttributes) -> Result<Entry> {
        create::make_node(&self.0, cx, place, node, &self.0.storable(set))
    }

    fn link(&self, cx: &Context<'_>, node: &Handle, place: Place<'_>) -> Result<Attributes> {
        create::link(&self.0, cx, node, place)
    }

    fn remove(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        remove::remove(&self.0, cx, place, None)
    }

    fn remove_seen(&self, cx: &Context<'_>, place: Place<'_>, seen: &Entry) -> Result<()> {
        remove::remove(&self.0, cx, place, Some(seen))
    }

    fn remove_dir(&self, cx: &Context<'_>, place: Place<'_>) -> Result<()> {
        remove::remove_dir(&self.0, cx, place)
    }

    fn rename(&self, cx: &Context<'_>, from: Place<'_>, to: Place<'_>) -> Result<()> {
        rename::rename(&self.0, cx, from, to)
    }

    fn get_xattr(&self, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<Option<Vec<u8>>> {
        xattrs::get(&self.0, cx, node, name)
    }

    fn set_xattr(&self, cx: &Context<'_>, node: &Handle, set: &SetXattr<'_>) -> Result<()> {
        xattrs::set(&self.0, cx, node, set)
    }

    fn list_xattrs(&self, cx: &Context<'_>, node: &Handle) -> Result<Vec<Box<[u8]>>> {
        xattrs::list(&self.0, cx, node)
    }

    fn remove_xattr(&self, cx: &Context<'_>, node: &Handle, name: XattrName<'_>) -> Result<()> {
        xattrs::remove(&self.0, cx, node, name)
    }

    fn maintain(&self) {
        self.0.opens.tidy();
    }

    /// Commits writes to open files. Other files need nothing: closing a file commits it, and the server replies to a
    /// change of names only when it is on stable storage (RFC 1813 §4.8). Does not wait for files being closed
    /// meanwhile, or for writes of other clients.
    fn sync_all(&self, cx: &Context<'_>) -> Result<()> {
        sync_all::sync_all(&self.0, cx)
    }

    fn space(&self, cx: &Context<'_>, node: &Handle) -> Result<Space> {
        space::space(&self.0, cx, node)
    }
}
