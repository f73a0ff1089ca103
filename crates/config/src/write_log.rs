use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};

use crate::size::Size;
use crate::{parse_size, parse_time};

/// Settings of the write log; `None` means unset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WriteLogSettings {
    /// Where the log is.
    #[serde(deserialize_with = "place")]
    pub path: Option<WriteLogPlace>,
    /// The size of a new log, in bytes.
    #[serde(deserialize_with = "size")]
    pub size: Option<u64>,
    /// How full the log gets before its changes are flushed to storage, in percent.
    #[serde(deserialize_with = "percent")]
    pub high_water: Option<u8>,
    /// How full it may be after that, in percent.
    #[serde(deserialize_with = "percent")]
    pub low_water: Option<u8>,
    /// How long a change stays only in the log.
    #[serde(deserialize_with = "time")]
    pub max_age: Option<Duration>,
    /// Whether to allow a log in memory, which loses changes when the process is killed, or at a power failure if it or
    /// the state directory is on tmpfs.
    pub lose_my_data: Option<bool>,
}

/// Where a write log is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteLogPlace {
    /// In a file, or on a block device.
    Path(PathBuf),
    /// In memory, for experiments.
    Memory,
}

/// The word for a log in memory.
const MEMORY: &str = "memory";

impl WriteLogSettings {
    /// These settings, with unset ones from `other`.
    pub(crate) fn or(self, other: WriteLogSettings) -> WriteLogSettings {
        WriteLogSettings {
            path: self.path.or(other.path),
            size: self.size.or(other.size),
            high_water: self.high_water.or(other.high_water),
            low_water: self.low_water.or(other.low_water),
            max_age: self.max_age.or(other.max_age),
            lose_my_data: self.lose_my_data.or(other.lose_my_data),
        }
    }
}

/// Reads a path, or `memory`.
///
/// # Errors
/// When it is empty.
pub fn parse_write_log(text: &str) -> Result<WriteLogPlace, String> {
    match text {
        "" => Err(format!("a write log is a path, or `{MEMORY}`")),
        MEMORY => Ok(WriteLogPlace::Memory),
        path => Ok(WriteLogPlace::Path(path.into())),
    }
}

/// Reads a percentage, with or without the sign.
///
/// # Errors
/// When it is not a whole number from 1 to 100.
pub fn parse_percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    let share = number.parse().ok().filter(|share| (1..=100).contains(share));
    share.ok_or_else(|| format!("{text:?} is not a percentage; write 1% to 100%"))
}

fn place<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<WriteLogPlace>, D::Error> {
    parse_write_log(&String::deserialize(deserializer)?).map(Some).map_err(de::Error::custom)
}

fn percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    parse_percent(&String::deserialize(deserializer)?).map(Some).map_err(de::Error::custom)
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let bytes = match Size::deserialize(deserializer)? {
        Size::Bytes(bytes) => Ok(bytes),
        Size::Text(text) => parse_size(&text),
    };
    bytes.map(Some).map_err(de::Error::custom)
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    parse_time(&String::deserialize(deserializer)?).map(Some).map_err(de::Error::custom)
}
