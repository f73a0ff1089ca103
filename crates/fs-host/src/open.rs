//! How an export begins: open the directory, find out what the process and the file system can do, choose handles.

use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit};

use crate::cache::NodeCache;
use crate::host::HostFs;
use crate::identity::Identity;
use crate::kernel_handles::KernelHandles;
use crate::options::HostOptions;
use crate::volume::Volume;

/// Where the kernel shows a process its own descriptors.
const PROC_DESCRIPTORS: &str = "/proc/self/fd";

/// A node is one descriptor, a directory two, and half of the limit is for everything else of the process: connections
/// and open files.
const LIMIT_SHARE: u64 = 4;

/// Why a directory cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory cannot be opened.
    #[error("cannot open {path} for serving: {source}; it must be a directory that this user may read and search", path = path.display())]
    Directory {
        /// The directory that was asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no /proc.
    #[error("cannot serve {path} without {PROC_DESCRIPTORS}: {source}; mount proc on /proc", path = path.display())]
    NoProc {
        /// The directory that was asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Kernel handles were asked for and do not work.
    #[error(
        "kernel file handles do not work for {path}: {source}; they need CAP_DAC_READ_SEARCH (root) and a file system \
         that can be exported: use the store's handles instead",
        path = path.display()
    )]
    KernelHandles {
        /// The directory that was asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl HostFs {
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
        prepare_process();
        let path = || dir.to_path_buf();
        let volume = Volume::open(dir).map_err(|error| OpenError::Directory { path: path(), source: error.into() })?;
        std::fs::metadata(PROC_DESCRIPTORS).map_err(|source| OpenError::NoProc { path: path(), source })?;
        let handles = KernelHandles::probe(volume.root());
        let handles = handles.map_err(|source| OpenError::KernelHandles { path: path(), source })?;
        let nodes = NodeCache::new(options.workers, max_nodes(&options));
        Ok(HostFs { volume, handles, nodes, identity: Identity::probe(), options })
    }
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

fn max_nodes(options: &HostOptions) -> usize {
    let limit = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let share = limit / LIMIT_SHARE / options.workers.max(1) as u64;
    options.max_nodes_per_worker.min(usize::try_from(share).unwrap_or(usize::MAX))
}
