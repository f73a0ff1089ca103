use serde::Deserialize;

/// Why a text is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// It is not a number with a known suffix.
    #[error("{0:?} is not a size; write a number of bytes, or one with K, M, G or T (powers of 1024)")]
    Malformed(String),
    /// It is too large.
    #[error("{0:?} is too large")]
    TooLarge(String),
}

/// Why a text is neither a size nor a word that can replace one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source}; {words} can replace a size")]
pub struct SizeOrWordError {
    source: SizeError,
    words: &'static str,
}

impl SizeError {
    /// This error where `words` can replace a size.
    pub(crate) fn or(self, words: &'static str) -> SizeOrWordError {
        SizeOrWordError { source: self, words }
    }
}

/// A size in TOML: a number of bytes, or a text with a suffix.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number of bytes, or a text such as \"8M\"")]
pub(crate) enum Size {
    Bytes(u64),
    Text(String),
}

impl Size {
    pub(crate) fn bytes(&self) -> Result<u64, SizeError> {
        match self {
            Size::Bytes(bytes) => Ok(*bytes),
            Size::Text(text) => parse_size(text),
        }
    }
}

/// Reads a number of bytes such as `4096`, `64K`, `1.5G` or `1T`. Suffixes are powers of 1024; `KiB` and `kb` mean `K`.
///
/// # Errors
/// When it is not such a number, or 2⁶⁴ or more.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let sizes = parse_size::Config::new().with_binary();
    sizes.parse_size(text).map_err(|error| match error {
        parse_size::Error::PosOverflow => SizeError::TooLarge(text.to_owned()),
        _ => SizeError::Malformed(text.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_powers_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("512b", 512),
            ("64K", 64 << 10),
            ("8m", 8 << 20),
            ("4G", 4 << 30),
            ("1T", 1 << 40),
            ("4GiB", 4 << 30),
            ("4kb", 4 << 10),
            ("1.5G", 3 << 29),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_size() {
        for text in ["", "G", "4X", "-1", "0x10", "4GG", "K4"] {
            assert_eq!(parse_size(text), Err(SizeError::Malformed(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn size_that_overflows_is_too_large() {
        for text in ["18446744073709551616", "16777216T"] {
            assert_eq!(parse_size(text), Err(SizeError::TooLarge(text.to_owned())), "{text}");
        }
    }
}
