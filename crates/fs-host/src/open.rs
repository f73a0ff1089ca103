//! How an export begins: open the directory, find out what the process and the file system can do, choose handles.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use own_files::{NAME_ANOTHER, OwnDir, explained};
use rustix::process::{Resource, Rlimit};
use vfs::{Origin, quoted};

use crate::cache::NodeCache;
use crate::flush::{Disk, FlushGroup, Losses};
use crate::handles::{Handles, StoredHandles};
use crate::held::HeldFiles;
use crate::host::HostFs;
use crate::identity::Impersonation;
use crate::kernel_handles::KernelHandles;
use crate::lease_terms::LeaseTerms;
use crate::lookup_pace::LookupPace;
use crate::made::MadeFiles;
use crate::metadata::{KnownFiles, Listings, MetadataClock};
use crate::options::{HandleForm, HostOptions};
use crate::read_ahead::StreamTable;
use crate::shared_store;
use crate::shortfalls;
use crate::store::{Store, StoreError, fnv, numbers_name};
use crate::uncommitted::UncommittedFiles;
use crate::volume::HostVolume;
use crate::walk::Searches;
use crate::whereabouts;

/// Where the kernel shows a process its own descriptors.
const PROC_DESCRIPTORS: &str = "/proc/self/fd";

/// A node is one descriptor, a directory two: all together they take a quarter of the limit at the most. The rest is
/// for connections, open files, and what calls open for a moment.
const LIMIT_SHARE: u64 = 8;

/// Why a directory cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory cannot be opened.
    #[error("cannot open {path} for serving: {source}; it must be a directory that this user may read and search", path = quoted(path))]
    Directory {
        /// The directory that was asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no /proc.
    #[error("cannot serve {path} without {PROC_DESCRIPTORS}: {source}; mount proc on /proc", path = quoted(path))]
    NoProc {
        /// The directory that was asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A store is needed and there is no place for it.
    #[error(
        "serving {path} needs a state directory, because kernel file handles do not work here (they need \
         CAP_DAC_READ_SEARCH and a file system that can be exported): name one outside of the export",
        path = quoted(path)
    )]
    NoStateDir {
        /// The directory that was asked for.
        path: PathBuf,
    },
    /// The state directory cannot be made or used.
    #[error("cannot use the state directory {}: {}", quoted(state_dir), explained(source, NAME_ANOTHER))]
    StateDir {
        /// The state directory.
        state_dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Clients could read and change the server's state.
    #[error(
        "the state directory {} is inside of the export {}, where clients could read the key of all file handles; \
         name one outside of it",
        quoted(state_dir),
        quoted(path)
    )]
    StateInside {
        /// The exported directory.
        path: PathBuf,
        /// The state directory.
        state_dir: PathBuf,
    },
    /// Clients' files would lie among the server's own.
    #[error("{} is inside of the state directory {}; export another directory", quoted(path), quoted(state_dir))]
    InsideState {
        /// The exported directory.
        path: PathBuf,
        /// The state directory.
        state_dir: PathBuf,
    },
    /// The store's file cannot be read or written.
    #[error(
        "cannot use the store of file handles {}: {}",
        quoted(file),
        explained(
            source,
            "put it back as the last server left it; or, if no write log has changes of the export, move it \
         elsewhere (clients must mount again)"
        )
    )]
    StateFile {
        /// The store's file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another server has the store open.
    #[error("the store of file handles {} is in use: another server serves this directory with it", quoted(file))]
    StateInUse {
        /// The store's file.
        file: PathBuf,
    },
    /// The store is another export's.
    #[error("the store of file handles {} belongs to the export {owner}; name another state directory", quoted(file))]
    ForeignState {
        /// The store's file.
        file: PathBuf,
        /// The path of the export that it belongs to.
        owner: String,
    },
    /// The log would drop changes that may be lost.
    #[error(
        "a write log in front of {path} would lose changes: it is on {file_system}, and {reason}; export a directory of \
         ext4, XFS or btrfs with the log, or run the server without --write-log", path = quoted(path)
    )]
    HidesErrors {
        /// The exported directory.
        path: PathBuf,
        /// What the kernel calls its file system.
        file_system: String,
        /// What is known of it.
        reason: &'static str,
    },
    /// Kernel handles were asked for and do not work.
    #[error(
        "kernel file handles do not work for {path}: {source}; they need CAP_DAC_READ_SEARCH (root) and a file system \
         that can be exported: use the store's handles instead",
        path = quoted(path)
    )]
    KernelHandles {
        /// The directory that was asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What is known of a directory before it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// Which directory it is.
    pub origin: Origin,
    /// Whether files are named by the kernel's handles; else the state directory has a store of them.
    pub has_kernel_handles: bool,
    /// What a power failure may undo though it was acknowledged, and what to do about it.
    pub shortfalls: Vec<String>,
}

impl HostFs {
    /// Looks whether `dir` can be served, and changes nothing: neither is a state directory made, nor a store opened
    /// that another server may be using.
    ///
    /// # Errors
    /// An [`OpenError`], as [`HostFs::open`] has it.
    pub fn examine(dir: &Path, options: &HostOptions) -> Result<Examined, OpenError> {
        let volume = open_volume(dir)?;
        require_apart(dir, options)?;
        check_flushes(dir, &volume, options)?;
        let has_kernel_handles = probe_kernel(dir, &volume, options)?.is_some();
        if !has_kernel_handles && options.state_dir.is_none() {
            return Err(OpenError::NoStateDir { path: dir.to_path_buf() });
        }
        let shortfalls = shortfalls::of_export(dir, &volume, options);
        Ok(Examined { origin: volume.origin(), has_kernel_handles, shortfalls })
    }

    /// Whether the directory that is served is still the one at `dir`: neither has another one taken its place, nor has
    /// something been mounted there.
    pub fn is_still_at(&self, dir: &Path) -> bool {
        HostVolume::open(dir).is_ok_and(|now| self.volume.is_at(&now))
    }

    /// Opens `dir` for serving.
    ///
    /// # Errors
    /// An [`OpenError`] that names the path, the reason and the remedy.
    ///
    /// # Examples
    /// ```
    /// use wharf_fs_host::{HostFs, HostOptions};
    /// use vfs::{Context, FileSystem};
    ///
    /// let dir = std::env::temp_dir();
    /// # if !rustix::process::geteuid().is_root() { return Ok(()); }
    /// let fs = HostFs::open(&dir, HostOptions::default())?;
    /// println!("{:?}", fs.attributes(&Context::ROOT, &fs.root()));
    /// # Ok::<(), wharf_fs_host::OpenError>(())
    /// ```
    pub fn open(dir: &Path, options: HostOptions) -> Result<HostFs, OpenError> {
        let identity = Impersonation::probe();
        prepare_process();
        let volume = open_volume(dir)?;
        require_apart(dir, &options)?;
        check_flushes(dir, &volume, &options)?;
        let handles = choose_handles(dir, &volume, &options)?;
        let max_nodes = options.max_nodes.unwrap_or_else(share_of_descriptors);
        let nodes = NodeCache::new(options.workers, max_nodes);
        let (made, held) = (MadeFiles::new(max_nodes), HeldFiles::of(handles.storage(&volume)));
        let streams = StreamTable::new(options.read_ahead.clone());
        let flushes = Arc::new(flush_group(dir, &volume, &options)?);
        let uncommitted = Arc::new(UncommittedFiles::new(Arc::clone(&flushes), max_nodes));
        let lookup_pace = LookupPace::new(volume.cache_kind());
        let memory = Some(&options.metadata_memory).filter(|memory| memory.is_on() && volume.keeps_times());
        let known = memory.map(|memory| KnownFiles::new(options.workers, memory));
        let listings = memory.map(Listings::new);
        let (searches, clock) = (Searches::default(), MetadataClock::new());
        let leases = LeaseTerms::of(volume.cache_kind());
        Ok(HostFs {
            volume,
            handles,
            searches,
            lookup_pace,
            nodes,
            made,
            held,
            known,
            listings,
            clock,
            identity,
            streams,
            flushes,
            uncommitted,
            leases,
            options,
        })
    }
}

/// Refuses a log in front of a file system that cannot be flushed reliably as a whole.
fn check_flushes(dir: &Path, volume: &HostVolume, options: &HostOptions) -> Result<(), OpenError> {
    match volume.rules.doubt.filter(|_| options.is_behind_log) {
        Some(reason) => {
            let file_system = volume.file_system.clone();
            Err(OpenError::HidesErrors { path: dir.to_path_buf(), file_system, reason })
        }
        None => Ok(()),
    }
}

fn flush_group(dir: &Path, volume: &HostVolume, options: &HostOptions) -> Result<FlushGroup, OpenError> {
    let failed = |error: rustix::io::Errno| OpenError::Directory { path: dir.to_path_buf(), source: error.into() };
    let whole = volume.whole_flush().map_err(failed)?;
    let disk = Box::new(Disk::new(whole, volume.rules.flushes_whole, options.is_behind_log));
    let is_shared = options.group_commit && volume.rules.shares_flushes;
    Ok(FlushGroup::new(disk, is_shared, Arc::clone(&options.flush_counters), Losses::of(volume.device)))
}

fn open_volume(dir: &Path) -> Result<HostVolume, OpenError> {
    let path = || dir.to_path_buf();
    let volume = HostVolume::open(dir).map_err(|error| OpenError::Directory { path: path(), source: error.into() })?;
    std::fs::metadata(PROC_DESCRIPTORS).map_err(|source| OpenError::NoProc { path: path(), source })?;
    Ok(volume)
}

/// Refuses an export and a state directory that are one inside of the other: the state directory has the key by which
/// handles are told from forged ones.
fn require_apart(dir: &Path, options: &HostOptions) -> Result<(), OpenError> {
    let Some(state_dir) = &options.state_dir else { return Ok(()) };
    let (path, state) = (|| dir.to_path_buf(), || state_dir.clone());
    let is_inside = |inner: &Path, outer: &Path| {
        whereabouts::is_inside(inner, outer).map_err(|source| OpenError::StateDir { state_dir: state(), source })
    };
    if is_inside(state_dir, dir)? {
        return Err(OpenError::StateInside { path: path(), state_dir: state() });
    }
    if is_inside(dir, state_dir)? {
        return Err(OpenError::InsideState { path: path(), state_dir: state() });
    }
    Ok(())
}

/// The kernel's handles, if they are to be used and work.
fn probe_kernel(dir: &Path, volume: &HostVolume, options: &HostOptions) -> Result<Option<KernelHandles>, OpenError> {
    match options.handle_form {
        HandleForm::Store => Ok(None),
        HandleForm::Auto => Ok(KernelHandles::probe(volume.root()).ok()),
        HandleForm::Kernel => KernelHandles::probe(volume.root())
            .map(Some)
            .map_err(|source| OpenError::KernelHandles { path: dir.to_path_buf(), source }),
    }
}

fn choose_handles(dir: &Path, volume: &HostVolume, options: &HostOptions) -> Result<Handles, OpenError> {
    if let Some(kernel) = probe_kernel(dir, volume, options)? {
        return Ok(Handles::Kernel(kernel));
    }
    let no_state_dir = || OpenError::NoStateDir { path: dir.to_path_buf() };
    let state_dir = options.state_dir.as_deref().ok_or_else(no_state_dir)?;
    let store = open_store(dir, state_dir)?;
    Ok(Handles::Stored(Box::new(StoredHandles::new(store, volume.root(), volume.device))))
}

/// The log of an export is named after a hash of its path, so that one state directory serves several exports.
fn open_store(dir: &Path, state_dir: &Path) -> Result<Arc<Store>, OpenError> {
    let failed = |source| OpenError::StateDir { state_dir: state_dir.to_path_buf(), source };
    let export = dir.canonicalize().map_err(|source| OpenError::Directory { path: dir.to_path_buf(), source })?;
    let own_dir = OwnDir::create(state_dir).map_err(failed)?;
    let export = export.as_os_str().as_bytes();
    let stem = format!("export-{:016x}", fnv(export));
    let file = state_dir.join(numbers_name(&stem));
    shared_store::open(&own_dir, &stem, export).map_err(|error| match error {
        StoreError::Foreign(owner) => OpenError::ForeignState { file, owner },
        StoreError::Io(source) if source.kind() == io::ErrorKind::WouldBlock => OpenError::StateInUse { file },
        StoreError::Io(source) => OpenError::StateFile { file, source },
    })
}

/// Modes come out as callers ask, and as many files can be kept at hand as the administrator allows.
fn prepare_process() {
    rustix::process::umask(rustix::fs::Mode::empty());
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if limit.current != limit.maximum
        && let Err(error) = rustix::process::setrlimit(Resource::Nofile, raised)
    {
        tracing::warn!(%error, ?limit.current, "cannot raise the limit of open files to the hard limit");
    }
}

fn share_of_descriptors() -> usize {
    let limit = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(limit / LIMIT_SHARE).unwrap_or(usize::MAX)
}
