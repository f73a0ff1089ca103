use std::time::Duration;

use clap::Args;
use config::{LimitSettings, SizeError};

/// What is taken from clients at most. The configuration file has a few limits more.
#[derive(Debug, Args)]
#[command(next_help_heading = "What clients may take")]
pub struct LimitFlags {
    /// The most connections at once. [default: 16384]
    #[arg(long, value_name = "COUNT")]
    max_connections: Option<usize>,
    /// The most connections at once from one address. [default: a quarter of all]
    #[arg(long, value_name = "COUNT")]
    max_connections_per_client: Option<usize>,
    /// The most memory for calls that are received and not answered and for replies that are not sent. [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    memory: Option<usize>,
    /// How much of this memory one address may take. [default: a quarter]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    memory_per_client: Option<usize>,
    /// After which time a silent connection is closed, or `never`. [default: 15m]
    #[arg(long, value_name = "TIME", value_parser = parse_pause)]
    idle_timeout: Option<Pause>,
    /// After which time a connection is closed that leaves a message unfinished, or, when its client has no memory left, takes none of
    /// its replies. [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = config::parse_time)]
    stall_timeout: Option<Duration>,
}

/// A time, or none; a type of its own, since clap takes an `Option` for a flag that may be missing.
#[derive(Debug, Clone, Copy)]
struct Pause(Option<Duration>);

fn parse_pause(text: &str) -> Result<Pause, config::DurationError> {
    config::parse_timeout(text).map(Pause)
}

fn parse_bytes(text: &str) -> Result<usize, SizeError> {
    let bytes = config::parse_size(text)?;
    usize::try_from(bytes).map_err(|_| SizeError::TooLarge(text.to_owned()))
}

impl LimitFlags {
    /// What the command line says of the limits.
    pub fn settings(&self) -> LimitSettings {
        LimitSettings {
            max_connections: self.max_connections,
            max_connections_per_client: self.max_connections_per_client,
            memory: self.memory,
            memory_per_client: self.memory_per_client,
            idle_timeout: self.idle_timeout.map(|timeout| timeout.0),
            stall_timeout: self.stall_timeout,
            ..LimitSettings::default()
        }
    }
}
