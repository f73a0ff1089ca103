use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use vfs::Handle;

use crate::flush::FlushCounters;
use crate::metadata::MetadataMemory;
use crate::read_ahead::ReadAheadMode;

/// Which kind of handle names files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandleForm {
    /// The kernel's where that works, else the store's.
    #[default]
    Auto,
    /// The kernel's (`name_to_handle_at`): nothing is kept, but the process needs `CAP_DAC_READ_SEARCH` and the file
    /// system must be one that can be exported.
    Kernel,
    /// Numbers from a store in the state directory: works without privileges and on every file system.
    Store,
}

/// Hears the handle of a file or directory whose last known name this server has removed, so that whoever keeps the
/// file open can let it go and its space is freed. It is called on the thread that removed it, with no lock held.
pub type GoneListener = Arc<dyn Fn(&Handle) + Send + Sync>;

/// How to serve a directory.
#[derive(Clone)]
pub struct HostOptions {
    /// Which handles to give out.
    pub handle_form: HandleForm,
    /// Where the store of handles is kept, when one is needed: a directory outside of the export, made if it is
    /// missing.
    pub state_dir: Option<PathBuf>,
    /// How many threads will call: [`Context::worker`](vfs::Context::worker) is below this.
    pub workers: usize,
    /// The most files that all workers keep at hand, each with a descriptor (a directory with two). Default: an eighth
    /// of the files that the process may open.
    pub max_nodes: Option<usize>,
    /// Whether a reply to a create, remove, rename, link or change of attributes waits until the change is on stable
    /// storage, as RFC 1813 §4.8 demands. Without it a crash of the machine may undo what a client was told is done.
    pub sync_metadata: bool,
    /// Whether a log keeps changes until [`FileSystem::sync_all`](vfs::FileSystem::sync_all) has succeeded. A file
    /// system where that proves nothing is then refused.
    pub is_behind_log: bool,
    /// Whether calls that wait for storage at the same time share flushes, on ext4, XFS and btrfs. On other file
    /// systems each call makes its own. A call that is alone waits for no other. Any other call waits for flushes of
    /// others for at most 100 ms; then it flushes its own files.
    pub group_commit: bool,
    /// Counts the flushes.
    pub flush_counters: Arc<FlushCounters>,
    /// Who reads ahead of sequential readers.
    pub read_ahead: ReadAheadMode,
    /// What names and handles of local files may take in memory, together with other directories that share this.
    pub metadata_memory: Arc<MetadataMemory>,
    /// Who hears that a file is gone.
    pub on_gone: Option<GoneListener>,
}

impl Default for HostOptions {
    fn default() -> Self {
        HostOptions {
            handle_form: HandleForm::Auto,
            state_dir: None,
            workers: 1,
            max_nodes: None,
            sync_metadata: true,
            is_behind_log: false,
            group_commit: true,
            flush_counters: Arc::default(),
            read_ahead: ReadAheadMode::default(),
            metadata_memory: Arc::default(),
            on_gone: None,
        }
    }
}

impl fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostOptions")
            .field("handle_form", &self.handle_form)
            .field("state_dir", &self.state_dir)
            .field("workers", &self.workers)
            .field("max_nodes", &self.max_nodes)
            .field("sync_metadata", &self.sync_metadata)
            .field("is_behind_log", &self.is_behind_log)
            .field("group_commit", &self.group_commit)
            .field("read_ahead", &self.read_ahead)
            .field("metadata_memory", &self.metadata_memory)
            .finish_non_exhaustive()
    }
}
