use std::sync::Arc;

use clap::{Args, ValueEnum};
use config::{ReadAhead, StorageSettings};
use fs_host::{MetadataMemory, ReadAheadMode};

/// How files are read and written. The defaults are the fastest measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "Storage")]
pub struct StorageFlags {
    /// Read-ahead window for each sequential reader of a file on disk; `kernel` uses the kernel's read-ahead, which
    /// treats all readers of a file as one; `off` disables it. [default: 4M]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_read_ahead)]
    read_ahead: Option<ReadAhead>,
    /// Combine adjacent NFSv3 WRITEs that arrive together into one write. [default: on]
    #[arg(long, value_name = "SWITCH")]
    gather_writes: Option<Whether>,
    /// Let requests that wait for stable storage at the same time share a flush (ext4, XFS, btrfs). [default: on]
    #[arg(long, value_name = "SWITCH")]
    group_commit: Option<Whether>,
    /// Memory for names and handles of local directories, which are used while the directories are unchanged; `off`
    /// keeps none. [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_metadata_cache)]
    metadata_cache: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Whether {
    On,
    Off,
}

impl StorageFlags {
    /// Returns the storage settings of the command line.
    pub fn settings(&self) -> StorageSettings {
        let is_on = |whether| whether == Whether::On;
        StorageSettings {
            read_ahead: self.read_ahead,
            gather_writes: self.gather_writes.map(is_on),
            group_commit: self.group_commit.map(is_on),
            metadata_cache: self.metadata_cache,
        }
    }
}

/// Returns the memory for names and handles of local directories.
pub fn metadata_memory(settings: &StorageSettings) -> MetadataMemory {
    let bytes = settings.metadata_cache.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    MetadataMemory::new(bytes.unwrap_or(MetadataMemory::DEFAULT_BYTES))
}

/// Returns who reads ahead.
pub fn read_ahead_mode(settings: &StorageSettings) -> ReadAheadMode {
    match settings.read_ahead.unwrap_or(ReadAhead::Streams(fs_host::ReadAhead::WINDOW_BYTES)) {
        ReadAhead::Kernel => ReadAheadMode::Kernel,
        ReadAhead::Off => ReadAheadMode::Off,
        ReadAhead::Streams(bytes) => ReadAheadMode::Streams(Arc::new(fs_host::ReadAhead::new(bytes))),
    }
}
