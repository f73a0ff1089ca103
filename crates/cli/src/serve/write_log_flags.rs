use std::time::Duration;

use clap::Args;
use config::{WriteLogPlace, WriteLogSettings};

/// Where stable changes are logged before they are in storage.
#[derive(Debug, Args)]
#[command(next_help_heading = "The write log")]
pub struct WriteLogFlags {
    /// Acknowledge stable writes and changes of names and attributes once they are in a log: a file, made if it is missing, or a block
    /// device, best on a fast disk; or `memory`, for experiments
    #[arg(long, value_name = "PATH", value_parser = config::parse_write_log)]
    write_log: Option<WriteLogPlace>,
    /// How large a new log is made. [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_size)]
    write_log_size: Option<u64>,
    /// How full the log gets before everything is brought to storage. [default: 50%]
    #[arg(long, value_name = "PERCENT", value_parser = config::parse_percent)]
    write_log_high_water: Option<u8>,
    /// How full it may be after that, or it is done once more. [default: 25%]
    #[arg(long, value_name = "PERCENT", value_parser = config::parse_percent)]
    write_log_low_water: Option<u8>,
    /// How long a change is at most only in the log. [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = config::parse_time)]
    write_log_max_age: Option<Duration>,
    /// Allow a write log in memory: what clients were told is stable is lost with the process
    #[arg(long)]
    lose_my_data: bool,
}

impl WriteLogFlags {
    /// What the command line says of it.
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
