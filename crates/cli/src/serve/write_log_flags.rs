use std::time::Duration;

use clap::Args;
use config::{WriteLogPlace, WriteLogSettings};

/// The write log, which makes changes durable before they reach the exports' disk.
#[derive(Debug, Args)]
#[command(next_help_heading = "Write log")]
pub struct WriteLogFlags {
    /// Acknowledge stable writes and metadata changes once they are in this log: a file, created if missing, or a block
    /// device, best on a fast disk (docs/write-log.md). `memory` is for experiments.
    #[arg(long, value_name = "PATH", value_parser = config::parse_write_log)]
    write_log: Option<WriteLogPlace>,
    /// Size of a new log. [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size)]
    write_log_size: Option<u64>,
    /// Flush all changes to storage when the log is this full, in percent. [default: 50%]
    #[arg(long, value_name = "PERCENT", value_parser = config::parse_percent)]
    write_log_high_water: Option<u8>,
    /// Flush again until the log is at most this full, in percent. [default: 25%]
    #[arg(long, value_name = "PERCENT", value_parser = config::parse_percent)]
    write_log_low_water: Option<u8>,
    /// Flush a change to storage after this time in the log. [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = config::parse_time)]
    write_log_max_age: Option<Duration>,
    /// Allow `--write-log memory`, which loses acknowledged changes when the process ends, and a log or a state
    /// directory on tmpfs, which loses them at a power failure.
    #[arg(long)]
    lose_my_data: bool,
}

impl WriteLogFlags {
    /// Returns the write-log settings of the command line.
    pub fn settings(&self) -> WriteLogSettings {
        WriteLogSettings {
            path: self.write_log.clone(),
            size: self.write_log_size,
            high_water: self.write_log_high_water,
            low_water: self.write_log_low_water,
            max_age: self.write_log_max_age,
            lose_my_data: self.lose_my_data.then_some(true),
        }
    }
}
