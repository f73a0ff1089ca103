//! A mounted export: the API for applications, for every version of NFS.

mod acting;
mod cached;
mod change;
mod connect;
mod connect_v4;
mod exports_v4;
mod meter;
mod name_changes;
mod negotiation;
mod operations;
mod other_programs;
mod page;
mod path;
mod programs;
mod sizes;
mod users;
mod xattrs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use client_calls::CacheRecorder;
use client_calls::core::Counters;

use crate::cache::{BlockCache, Caches};
use crate::nlm::Nlm;
use crate::patience::Patience;
use crate::{CacheCounters, Connection, Entry, Error, FsInfo, Options, Reason, Result, Version, v4};
pub(crate) use cached::is_stale;
pub(crate) use connect::connect_mountd;
pub use meter::Meter;
use other_programs::OtherPrograms;
pub use path::Follow;
pub(crate) use path::{Source, Walk, by_path};
pub use sizes::Sizes;
pub(crate) use users::{User, Users};

/// A mounted export, and the user on whose behalf calls are made. Clones share its connections and caches.
///
/// Most applications go on with a [`Dir`](crate::Dir), from [`Mount::root_dir`] or [`Mount::open_dir`]. The operations
/// here are named as in the RFCs, take handles and always ask the server; [`Mount::walk`] makes a handle of a path. Any
/// number of them may run at once. Dropping a future does not undo its call: a change may have been carried out.
///
/// ```
#[doc = include_str!("../../doc/server_starts.txt")]
/// use client::{Bytes, CreateMode, Follow, Mount, Options, SetAttributes, Stability};
///
/// // A server in this process exports `/files`; `address` is its own. The newest version is taken that it speaks.
/// let url = format!("nfs://{address}/files").parse()?;
/// let options = Options { use_privileged_port: false, ..Options::negotiating() };
/// let mount = Mount::connect(&url, &options).await?;
///
/// let root = mount.root().handle;
/// let set = SetAttributes { mode: Some(0o640), ..SetAttributes::default() };
/// let made = mount.create(&root, b"file", CreateMode::Guarded, &set).await?;
/// let written = mount.write(&made.handle, 0, Bytes::from_static(b"0123456789"), Stability::File).await?;
/// assert_eq!(written.count, 10);
///
/// let file = mount.walk(b"file", Follow::Links).await?;
/// assert_eq!((file.handle, file.attributes.size_bytes), (made.handle, 10));
/// let mut buffer = [0; 4];
/// let read = mount.read_into(&file.handle, 7, &mut buffer).await?;
/// assert_eq!((&buffer[..read.count], read.is_eof), (&b"789"[..], true));
/// mount.unmount().await?;
#[doc = include_str!("../../doc/server_ends.txt")]
/// ```
#[derive(Debug, Clone)]
pub struct Mount(pub(crate) Arc<Mounted>, Arc<User>);

#[derive(Debug)]
pub(crate) struct Mounted {
    users: Users,
    turn: AtomicUsize,
    options: Options,
    server: Arc<str>,
    export: Vec<u8>,
    below: Vec<u8>,
    root: Entry,
    info: FsInfo,
    sizes: Sizes,
    caches: Caches,
    /// Whether the server has READDIRPLUS, as far as known.
    has_readdirplus: AtomicBool,
    cache_recorder: Arc<CacheRecorder>,
    other_programs: Arc<OtherPrograms>,
    /// Whether READ_PLUS is used: until a reply shows that the server has none that works.
    pub(crate) has_read_plus: AtomicBool,
    /// Locks before NFSv4.
    pub(crate) nlm: Nlm,
    /// Whether the server has refused SEEK.
    pub(crate) is_without_seek: AtomicBool,
}

impl Drop for Mounted {
    /// Destroys the state of NFSv4 at the server, unless that was done, so that others need not wait until the lease
    /// expires.
    fn drop(&mut self) {
        self.users.own_client().iter().for_each(|client| client.close_soon());
    }
}

impl Mount {
    /// The mounted directory, with its attributes at the time of the mount.
    pub fn root(&self) -> &Entry {
        &self.0.root
    }

    /// The path of the export on the server.
    pub fn export(&self) -> &[u8] {
        &self.0.export
    }

    /// The part of the URL's path below the export: empty for the export itself.
    pub fn path_below(&self) -> &[u8] {
        &self.0.below
    }

    /// The version of NFS.
    pub fn version(&self) -> Version {
        self.0.options.version
    }

    /// The options, with those of the URL applied.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// Properties of the server and the file system at the time of the mount.
    pub fn info(&self) -> &FsInfo {
        &self.0.info
    }

    /// The sizes of READs, WRITEs and READDIRs.
    pub fn sizes(&self) -> Sizes {
        self.0.sizes
    }

    /// The server, as the URL names it.
    pub fn server(&self) -> &str {
        &self.0.server
    }

    /// All connections, for calls without a method here (`connection.call::<nfs3::Getattr>(&arguments)`).
    pub fn connections(&self) -> &[Connection] {
        &self.1.connections
    }

    /// The connection for the next call; they take turns.
    pub fn connection(&self) -> &Connection {
        Connection::next_of(&self.1.connections, &self.0.turn)
    }

    /// Limits the retries of a call whose server asks to try later.
    pub(crate) fn patience(&self) -> Patience {
        let without_leases = || Patience::new(self.connections().first().and_then(Connection::patience), None);
        self.1.v4.as_ref().map_or_else(without_leases, v4::Client::patience)
    }

    /// The sum of all connections' counters.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.connections().iter().for_each(|connection| sum += connection.counters());
        sum
    }

    /// The counters of all caches.
    pub fn cache_counters(&self) -> CacheCounters {
        self.0.cache_recorder.counters()
    }

    /// The cached data of files.
    pub(crate) fn blocks(&self) -> &BlockCache {
        &self.0.caches.blocks
    }

    pub(crate) fn cache_recorder(&self) -> &CacheRecorder {
        &self.0.cache_recorder
    }

    /// The NFSv4 client; an error in older versions.
    pub(crate) fn v4(&self) -> Result<&v4::Client> {
        self.1.v4.as_ref().ok_or_else(|| self.error("COMPOUND", Reason::NotInVersion(self.version())))
    }

    /// Whether both are clones of one mount, so that one call can use files of both.
    pub fn is_same(&self, other: &Mount) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn max_dir_entries(&self) -> u64 {
        self.0.options.max_dir_entries
    }

    #[doc(hidden)]
    pub fn has_readdirplus(&self) -> bool {
        self.0.has_readdirplus.load(Ordering::Relaxed)
    }

    pub(crate) fn error(&self, operation: &'static str, reason: Reason) -> Error {
        Error::new(&self.0.server, operation, reason)
    }
}
