use std::time::Duration;

use clap::Args;
use config::LimitSettings;

/// Limits on what clients take. The configuration file has some more.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitFlags {
    /// Maximum number of connections. [default: 16384]
    #[arg(long, value_name = "COUNT", value_parser = config::parse_limit)]
    max_connections: Option<usize>,
    /// Maximum number of connections per client address. [default: a quarter of all, at least 16]
    #[arg(long, value_name = "COUNT", value_parser = config::parse_limit)]
    max_connections_per_client: Option<usize>,
    /// Maximum memory for requests in progress and unsent replies, over all clients. [default: 256M]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_memory)]
    memory: Option<usize>,
    /// Maximum share of this memory per client address. [default: a quarter]
    #[arg(long, value_name = "SIZE", value_parser = config::parse_memory)]
    memory_per_client: Option<usize>,
    /// Close a connection after this time without traffic, or `never`. [default: 15m]
    #[arg(long, value_name = "TIME", value_parser = parse_pause)]
    idle_timeout: Option<Pause>,
    /// Close a connection that leaves a request incomplete, or its replies unread while its client's memory is used up,
    /// for this long. [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = config::parse_patience)]
    stall_timeout: Option<Duration>,
}

/// A time or none. It is a type of its own because clap takes an `Option` for an optional flag.
#[derive(Debug, Clone, Copy)]
struct Pause(Option<Duration>);

fn parse_pause(text: &str) -> Result<Pause, String> {
    config::parse_long_patience(text).map(Pause)
}

impl LimitFlags {
    /// Returns the limits of the command line.
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
