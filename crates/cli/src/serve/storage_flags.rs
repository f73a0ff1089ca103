use clap::{Args, ValueEnum};
use config::StorageSettings;

/// How files are read and written. The defaults are the fastest that was measured.
#[derive(Debug, Args)]
#[command(next_help_heading = "How files are read and written")]
pub struct StorageFlags {
    /// Whether WRITEs of NFSv3 that lie one right behind the other and came together are carried out as one. [default: on]
    #[arg(long, value_name = "WHETHER")]
    gather_writes: Option<Whether>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Whether {
    On,
    Off,
}

impl StorageFlags {
    /// What the command line says of it.
    pub fn settings(&self) -> StorageSettings {
        StorageSettings { gather_writes: self.gather_writes.map(|whether| whether == Whether::On) }
    }
}
