use serde::{Deserialize, Deserializer, de};

use crate::size::Size;
use crate::{SizeOrWordError, parse_size};

/// How files are read and written; `None` means unset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSettings {
    /// Who reads ahead for sequential readers of files on disk.
    #[serde(deserialize_with = "read_ahead")]
    pub read_ahead: Option<ReadAhead>,
    /// Whether adjacent WRITEs that arrive together become one write.
    pub gather_writes: Option<bool>,
    /// Whether requests that wait for stable storage at the same time share flushes.
    pub group_commit: Option<bool>,
    /// The memory for names and handles of local directories, in bytes; 0 keeps none.
    #[serde(deserialize_with = "metadata_cache")]
    pub metadata_cache: Option<u64>,
}

/// Who reads ahead for sequential readers of files on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAhead {
    /// The kernel. It reads ahead per descriptor, so it treats several readers of one file as one.
    Kernel,
    /// Nobody.
    Off,
    /// The server, up to this many bytes at once for each stream.
    Streams(u64),
}

impl StorageSettings {
    /// These settings, with unset ones from `other`.
    pub(crate) fn or(self, other: StorageSettings) -> StorageSettings {
        StorageSettings {
            read_ahead: self.read_ahead.or(other.read_ahead),
            gather_writes: self.gather_writes.or(other.gather_writes),
            group_commit: self.group_commit.or(other.group_commit),
            metadata_cache: self.metadata_cache.or(other.metadata_cache),
        }
    }
}

/// Reads `kernel`, `off`, or a size.
///
/// # Errors
/// When it is none of them.
pub fn parse_read_ahead(text: &str) -> Result<ReadAhead, SizeOrWordError> {
    match text {
        "kernel" => Ok(ReadAhead::Kernel),
        "off" => Ok(ReadAhead::Off),
        size => parse_size(size).map(of_bytes).map_err(|error| error.or("`kernel` and `off`")),
    }
}

/// Reads `off`, which is 0 bytes, or a size.
///
/// # Errors
/// When it is neither.
pub fn parse_metadata_cache(text: &str) -> Result<u64, SizeOrWordError> {
    match text {
        "off" => Ok(0),
        size => parse_size(size).map_err(|error| error.or("`off`")),
    }
}

fn of_bytes(bytes: u64) -> ReadAhead {
    if bytes == 0 { ReadAhead::Off } else { ReadAhead::Streams(bytes) }
}

fn read_ahead<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ReadAhead>, D::Error> {
    let read_ahead = match Size::deserialize(deserializer)? {
        Size::Bytes(bytes) => Ok(of_bytes(bytes)),
        Size::Text(text) => parse_read_ahead(&text),
    };
    read_ahead.map(Some).map_err(de::Error::custom)
}

fn metadata_cache<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let bytes = match Size::deserialize(deserializer)? {
        Size::Bytes(bytes) => Ok(bytes),
        Size::Text(text) => parse_metadata_cache(&text),
    };
    bytes.map(Some).map_err(de::Error::custom)
}
