use serde::{Deserialize, Deserializer, de};

use crate::size::Size;
use crate::{SizeOrWordError, parse_size};

/// The smallest fragment that can be asked for, in bytes: 1 MiB, the largest READ, is then as many of them as the kernel takes at once.
const MIN_FRAGMENT_BYTES: u64 = 1 << 10;

/// The most segments that a limit can allow: the kernel takes no more in one send.
const MAX_SEGMENTS: u32 = 1024;

/// How the replies to READ are built and sent over TCP; `None` means that the source does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplySettings {
    /// How the data comes into the reply.
    pub method: Option<ReplyMethod>,
    /// Into segments of how many bytes replies are cut; `Some(None)` leaves them whole.
    #[serde(deserialize_with = "fragment")]
    pub fragment: Option<Option<u32>>,
    /// How many segments one send has at the most before they are copied into one; `Some(None)` sets no limit.
    #[serde(deserialize_with = "segments")]
    pub segments: Option<Option<u32>>,
    /// Whether the replies to all requests of one receive leave together.
    pub batching: Option<bool>,
}

/// How the data of a READ comes into its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplyMethod {
    /// It is read, and the reply copied once more before it is sent.
    Copy,
    /// It is read to where it is sent from.
    Gather,
    /// It stays in the file and is sent from there, where that pays; otherwise it is gathered.
    Sendfile,
}

/// Why a text is no way to build replies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// It is neither a size nor the word for none.
    #[error(transparent)]
    Size(#[from] SizeOrWordError),
    /// The fragments would be too small or too large.
    #[error("a fragment of {0} bytes is out of range; write \"whole\", or at least 1K")]
    Fragment(u64),
    /// It is no number of segments.
    #[error("{0:?} is not a number of segments; write \"none\", or 1 to {MAX_SEGMENTS}")]
    Segments(String),
}

impl ReplySettings {
    /// These settings, and those of `other` where these say nothing.
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
