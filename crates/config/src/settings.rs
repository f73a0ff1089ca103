use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

use crate::size::Size;
use crate::{
    CopySource, Listen, ReplySettings, SizeError, SizeOrWordError, StorageSettings, WriteLogSettings, parse_busy_poll,
    parse_domain, parse_lease, parse_size, parse_time, parse_timeout,
};

/// How a server runs; `None` means unset. docs/exports.md describes each key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    /// The addresses, for TCP and UDP.
    #[serde(deserialize_with = "addresses")]
    pub listen: Option<Vec<Listen>>,
    /// The portmapper.
    pub rpcbind: Option<Rpcbind>,
    /// The directory for state that must survive a restart.
    pub state_dir: Option<PathBuf>,
    /// The number of event loops; 0 is one per processor.
    pub loops: Option<usize>,
    /// Whether each loop is pinned to one processor.
    pub pin: Option<bool>,
    /// Whether connections with few, small requests go before busy ones, and clients take turns.
    pub fairness: Option<bool>,
    /// The busy-poll time; the inner `None` turns it off.
    #[serde(deserialize_with = "busy_poll")]
    pub busy_poll: Option<Option<Duration>>,
    /// The NFSv4 lease time.
    #[serde(deserialize_with = "lease")]
    pub lease: Option<Duration>,
    /// The grace period.
    #[serde(deserialize_with = "lease")]
    pub grace: Option<Duration>,
    /// The ID-mapping domain; owners are numbers without one.
    #[serde(deserialize_with = "domain")]
    pub domain: Option<String>,
    /// How READ_PLUS of NFSv4.2 reports holes.
    pub read_plus: Option<ReadPlus>,
    /// The smallest READ that is sent with sendfile, in bytes; the inner `None` means never.
    #[serde(rename = "sendfile", deserialize_with = "threshold")]
    pub sendfile_bytes: Option<Option<u32>>,
    /// The number of open files that each thread caches; 0 opens and closes a file for each request.
    pub open_files: Option<usize>,
    /// How long an unused file stays open.
    #[serde(deserialize_with = "time")]
    pub open_file_idle: Option<Duration>,
    /// The servers that NFSv4.2 clients may copy files from (COPY between servers); none by default.
    #[serde(deserialize_with = "copy_sources")]
    pub copy_from: Option<Vec<CopySource>>,
    /// How the replies to READ are built and sent.
    #[serde(skip)]
    pub reply: ReplySettings,
    /// How files are read and written.
    #[serde(skip)]
    pub storage: StorageSettings,
    /// The write log.
    #[serde(skip)]
    pub write_log: WriteLogSettings,
    /// Limits on what clients take.
    #[serde(skip)]
    pub limits: LimitSettings,
    /// How to log.
    #[serde(skip)]
    pub log: LogSettings,
}

/// How clients learn the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rpcbind {
    /// Clients must know the ports.
    Off,
    /// The server itself answers on port 111.
    Builtin,
    /// The server registers with the machine's rpcbind.
    Register,
}

/// How READ_PLUS of NFSv4.2 reports holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadPlus {
    /// READ_PLUS is not offered.
    None,
    /// Every reply is one segment of data.
    Data,
    /// The holes that the file system knows.
    Extents,
    /// The same, and blocks of zeros as holes.
    Zeros,
}

/// Limits on what a server takes from its clients; `None` keeps the default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Connections.
    #[serde(deserialize_with = "limit")]
    pub max_connections: Option<usize>,
    /// Connections per client.
    #[serde(deserialize_with = "limit")]
    pub max_connections_per_client: Option<usize>,
    /// Bytes of memory for requests in progress and unsent replies, over all clients.
    #[serde(deserialize_with = "memory")]
    pub memory: Option<usize>,
    /// The share of that memory that one client may take.
    #[serde(deserialize_with = "memory")]
    pub memory_per_client: Option<usize>,
    /// How long a request may be incomplete, or replies unread, before the connection is closed.
    #[serde(deserialize_with = "patience")]
    pub stall_timeout: Option<Duration>,
    /// Requests of one connection that wait for storage.
    #[serde(deserialize_with = "limit")]
    pub max_in_flight: Option<usize>,
    /// Bytes of these requests.
    #[serde(deserialize_with = "memory")]
    pub max_in_flight_bytes: Option<usize>,
    /// Bytes of unread replies per connection.
    #[serde(deserialize_with = "memory")]
    pub max_unsent_bytes: Option<usize>,
    /// How long a connection may be silent; `Some(None)` means for ever.
    #[serde(deserialize_with = "timeout")]
    pub idle_timeout: Option<Option<Duration>>,
    /// Threads that wait for storage.
    #[serde(deserialize_with = "limit")]
    pub blocking_threads: Option<usize>,
    /// How many of these threads are reserved for requests of an export that no other thread is working for.
    pub spare_blocking_threads: Option<usize>,
}

/// How to log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSettings {
    /// In which form.
    pub format: Option<LogFormat>,
    /// How much.
    pub level: Option<LogLevel>,
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one JSON object per line.
    Json,
}

/// The lowest severity that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What failed.
    Error,
    /// And what looks wrong.
    Warn,
    /// And what happens seldom.
    Info,
    /// And events per connection.
    Debug,
    /// And events per request.
    Trace,
}

impl ServerSettings {
    /// These settings, with unset ones from `other`.
    #[must_use]
    pub fn or(self, other: ServerSettings) -> ServerSettings {
        ServerSettings {
            listen: self.listen.or(other.listen),
            rpcbind: self.rpcbind.or(other.rpcbind),
            state_dir: self.state_dir.or(other.state_dir),
            loops: self.loops.or(other.loops),
            pin: self.pin.or(other.pin),
            fairness: self.fairness.or(other.fairness),
            busy_poll: self.busy_poll.or(other.busy_poll),
            lease: self.lease.or(other.lease),
            grace: self.grace.or(other.grace),
            domain: self.domain.or(other.domain),
            read_plus: self.read_plus.or(other.read_plus),
            sendfile_bytes: self.sendfile_bytes.or(other.sendfile_bytes),
            open_files: self.open_files.or(other.open_files),
            open_file_idle: self.open_file_idle.or(other.open_file_idle),
            copy_from: self.copy_from.or(other.copy_from),
            reply: self.reply.or(other.reply),
            storage: self.storage.or(other.storage),
            write_log: self.write_log.or(other.write_log),
            limits: self.limits.or(other.limits),
            log: self.log.or(other.log),
        }
    }
}

impl LogSettings {
    fn or(self, other: LogSettings) -> LogSettings {
        LogSettings { format: self.format.or(other.format), level: self.level.or(other.level) }
    }
}

impl LimitSettings {
    fn or(self, other: LimitSettings) -> LimitSettings {
        LimitSettings {
            max_connections: self.max_connections.or(other.max_connections),
            max_connections_per_client: self.max_connections_per_client.or(other.max_connections_per_client),
            memory: self.memory.or(other.memory),
            memory_per_client: self.memory_per_client.or(other.memory_per_client),
            stall_timeout: self.stall_timeout.or(other.stall_timeout),
            max_in_flight: self.max_in_flight.or(other.max_in_flight),
            max_in_flight_bytes: self.max_in_flight_bytes.or(other.max_in_flight_bytes),
            max_unsent_bytes: self.max_unsent_bytes.or(other.max_unsent_bytes),
            idle_timeout: self.idle_timeout.or(other.idle_timeout),
            blocking_threads: self.blocking_threads.or(other.blocking_threads),
            spare_blocking_threads: self.spare_blocking_threads.or(other.spare_blocking_threads),
        }
    }
}

fn addresses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Listen>>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let addresses: Result<Vec<Listen>, String> = texts.iter().map(|text| text.parse()).collect();
    addresses.map(Some).map_err(de::Error::custom)
}

/// Reads a limit: a number that is not 0, with which nobody would be served.
///
/// # Errors
/// When it is 0, or no number.
pub fn parse_limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err(NO_LIMIT.to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err(format!("{text:?} is not a number; write 1 or more")),
    }
}

fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    match usize::deserialize(deserializer)? {
        0 => Err(de::Error::custom(NO_LIMIT)),
        number => Ok(Some(number)),
    }
}

/// Why 0 is no limit.
const NO_LIMIT: &str = "0 would serve nobody; write 1 or more, or nothing for the default";

/// Reads a limit of memory, in bytes: enough for a request.
///
/// # Errors
/// When it is not a size, or too small.
pub fn parse_memory(text: &str) -> Result<usize, String> {
    let bytes = parse_size(text).map_err(|error| error.to_string())?;
    enough(bytes)
}

fn memory<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let bytes = Size::deserialize(deserializer)?.bytes().map_err(de::Error::custom)?;
    enough(bytes).map(Some).map_err(de::Error::custom)
}

fn enough(bytes: u64) -> Result<usize, String> {
    match usize::try_from(bytes) {
        Ok(0) => Err(NO_LIMIT.to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(_) => Err(format!("{bytes} is too large")),
    }
}

/// Reads a limit of time, after which something is given up: not 0, with which nobody would be served.
///
/// # Errors
/// When it is not such a time.
pub fn parse_patience(text: &str) -> Result<Duration, String> {
    let time = parse_time(text).map_err(|error| error.to_string())?;
    if time.is_zero() { Err(NO_LIMIT.to_owned()) } else { Ok(time) }
}

/// The same, or `never`.
///
/// # Errors
/// When it is neither.
pub fn parse_long_patience(text: &str) -> Result<Option<Duration>, String> {
    let time = parse_timeout(text).map_err(|error| error.to_string())?;
    if time.is_some_and(|time| time.is_zero()) { Err(NO_LIMIT.to_owned()) } else { Ok(time) }
}

fn timeout<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Duration>>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_long_patience(&text).map(Some).map_err(de::Error::custom)
}

fn patience<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_patience(&text).map(Some).map_err(de::Error::custom)
}

fn busy_poll<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Duration>>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_busy_poll(&text).map(Some).map_err(de::Error::custom)
}

/// Reads a size, or `never`.
///
/// # Errors
/// When it is neither, or 4 GiB or more.
pub fn parse_threshold(text: &str) -> Result<Option<u32>, SizeOrWordError> {
    if text == "never" {
        return Ok(None);
    }
    let bytes =
        parse_size(text).and_then(|bytes| u32::try_from(bytes).map_err(|_| SizeError::TooLarge(text.to_owned())));
    bytes.map(Some).map_err(|error| error.or("`never`"))
}

fn threshold<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u32>>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_threshold(&text).map(Some).map_err(de::Error::custom)
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_time(&text).map(Some).map_err(de::Error::custom)
}

fn lease<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_lease(&text).map(Some).map_err(de::Error::custom)
}

fn domain<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_domain(&text).map(Some).map_err(de::Error::custom)
}

fn copy_sources<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<CopySource>>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    let sources: Result<Vec<CopySource>, String> = texts.iter().map(|text| text.parse()).collect();
    sources.map(Some).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_that_serves_nobody_is_refused() {
        assert!(parse_limit("0").unwrap_err().contains("nobody"));
        assert!(parse_limit("many").unwrap_err().contains("not a number"));
        assert_eq!(parse_limit("1"), Ok(1));
        assert!(parse_memory("0").unwrap_err().contains("nobody"));
        assert_eq!(parse_memory("1M"), Ok(1 << 20));
        assert!(parse_patience("0s").unwrap_err().contains("nobody"));
        assert!(parse_long_patience("0").unwrap_err().contains("nobody"));
        assert_eq!(parse_long_patience("never"), Ok(None));
    }

    #[test]
    fn first_source_that_says_something_counts() {
        let first = ServerSettings { loops: Some(1), ..ServerSettings::default() };
        let second = ServerSettings { loops: Some(2), pin: Some(true), ..ServerSettings::default() };
        let both = first.or(second);
        assert_eq!((both.loops, both.pin, both.rpcbind), (Some(1), Some(true), None));
    }
}
