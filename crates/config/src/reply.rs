use serde::{Deserialize, Deserializer, de};

use crate::size::Size;
use crate::{SizeOrWordError, parse_size};

/// The smallest fragment, in bytes. The largest READ, 1 MiB, then has as many fragments as one send of the kernel
/// takes.
const MIN_FRAGMENT_BYTES: u64 = 1 << 10;

/// The largest limit of segments: one send of the kernel takes no more.
const MAX_SEGMENTS: u32 = 1024;

/// How replies to READ are built and sent over TCP; `None` means unset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplySettings {
    /// How the data gets into the reply.
    pub method: Option<ReplyMethod>,
    /// The size of segments in bytes; `Some(None)` does not split replies.
    #[serde(deserialize_with = "fragment")]
    pub fragment: Option<Option<u32>>,
    /// The maximum number of segments of one reply; one with more is copied into one. `Some(None)` means no limit.
    #[serde(deserialize_with = "segments")]
    pub segments: Option<Option<u32>>,
    /// Whether the replies to all requests of one receive are sent together.
    pub batching: Option<bool>,
}

/// How the data of a READ gets into its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplyMethod {
    /// The data is read, and the reply is copied once more before it is sent.
    Copy,
    /// The data is sent from the buffer that it was read to.
    Gather,
    /// The data is sent from the file if that is faster, otherwise gathered.
    Sendfile,
}

/// Why a reply setting is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// It is neither a size nor `whole`.
    #[error(transparent)]
    Size(#[from] SizeOrWordError),
    /// The size is out of range.
    #[error("a fragment of {0} bytes is out of range; write \"whole\", or at least 1K")]
    Fragment(u64),
    /// It is not a number of segments.
    #[error("{0:?} is not a number of segments; write \"none\", or 1 to {MAX_SEGMENTS}")]
    Segments(String),
}

impl ReplySettings {
    /// These settings, with unset ones from `other`.
    pub(crate) fn or(self, other: ReplySettings) -> ReplySettings {
        ReplySettings {
            method: self.method.or(other.method),
            fragment: self.fragment.or(other.fragment),
            segments: self.segments.or(other.segments),
            batching: self.batching.or(other.batching),
        }
    }
}

/// Reads the size of a fragment, or `whole`.
///
/// # Errors
/// When it is neither, or not 1 KiB to 4 GiB.
pub fn parse_fragment(text: &str) -> Result<Option<u32>, ReplyError> {
    if text == "whole" {
        return Ok(None);
    }
    fragment_of(parse_size(text).map_err(|error| error.or("`whole`"))?)
}

/// Reads a number of segments, or `none`.
///
/// # Errors
/// When it is neither, or not 1 to 1024.
pub fn parse_segments(text: &str) -> Result<Option<u32>, ReplyError> {
    if text == "none" {
        return Ok(None);
    }
    let count = text.parse().ok().filter(|count| (1..=MAX_SEGMENTS).contains(count));
    count.map(Some).ok_or_else(|| ReplyError::Segments(text.to_owned()))
}

fn fragment_of(bytes: u64) -> Result<Option<u32>, ReplyError> {
    let fits = u32::try_from(bytes).ok().filter(|_| bytes >= MIN_FRAGMENT_BYTES);
    fits.map(Some).ok_or(ReplyError::Fragment(bytes))
}

fn fragment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u32>>, D::Error> {
    let fragment = match Size::deserialize(deserializer)? {
        Size::Bytes(bytes) => fragment_of(bytes),
        Size::Text(text) => parse_fragment(&text),
    };
    fragment.map(Some).map_err(de::Error::custom)
}

fn segments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<u32>>, D::Error> {
    let text = match Size::deserialize(deserializer)? {
        Size::Bytes(count) => count.to_string(),
        Size::Text(text) => text,
    };
    parse_segments(&text).map(Some).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_and_segments_have_a_range_and_a_word_for_none() {
        assert_eq!((parse_fragment("whole"), parse_fragment("2K")), (Ok(None), Ok(Some(2048))));
        assert_eq!(parse_fragment("1023"), Err(ReplyError::Fragment(1023)));
        assert_eq!(parse_fragment("4G"), Err(ReplyError::Fragment(4 << 30)));
        assert!(matches!(parse_fragment("half"), Err(ReplyError::Size(_))));
        assert_eq!((parse_segments("none"), parse_segments("32")), (Ok(None), Ok(Some(32))));
        for text in ["0", "1025", "-1", "many"] {
            assert_eq!(parse_segments(text), Err(ReplyError::Segments(text.to_owned())));
        }
    }
}
