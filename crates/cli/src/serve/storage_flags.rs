use std::sync::Arc;

use clap::{Args, ValueEnum};
use config::{ReadAhead, StorageSettings};
use fs_host::ReadAheadMode;

/// How files are read and written. The defaults are the fastest that was measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "How files are read and written")]
pub struct StorageFlags {
    /// How much is read ahead at once for each who reads a file on disk from front to back; `kernel` leaves that to the kernel, which
    /// goes by descriptor and takes several readers of one file for one; `off` reads nothing ahead. [default: 4M]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_read_ahead)]
    read_ahead: Option<ReadAhead>,
    /// Whether WRITEs of NFSv3 that lie one right behind the other and came together are carried out as one. [default: on]
    #[arg(long, value_name = "WHETHER")]
    gather_writes: Option<Whether>,
    /// Whether calls that wait for stable storage at the same time share flushes, on ext4, XFS and btrfs. [default: on]
    #[arg(long, value_name = "WHETHER")]
    group_commit: Option<Whether>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Whether {
    On,
    Off,
}

impl StorageFlags {
    /// What the command line says of it.
    pub fn settings(&self) -> StorageSettings {
        let is_on = |whether| whether == Whether::On;
        StorageSettings {
            read_ahead: self.read_ahead,
            gather_writes: self.gather_writes.map(is_on),
            group_commit: self.group_commit.map(is_on),
        }
    }
}

/// Who reads ahead.
pub fn read_ahead_mode(settings: &StorageSettings) -> ReadAheadMode {
    match settings.read_ahead.unwrap_or(ReadAhead::Streams(fs_host::ReadAhead::WINDOW_BYTES)) {
        ReadAhead::Kernel => ReadAheadMode::Kernel,
        ReadAhead::Off => ReadAheadMode::Off,
        ReadAhead::Streams(bytes) => ReadAheadMode::Streams(Arc::new(fs_host::ReadAhead::new(bytes))),
    }
}
