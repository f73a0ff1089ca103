use serde::Deserialize;

/// Why a text is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// It is not a whole number with a known suffix.
    #[error("{0:?} is not a size; write a whole number of bytes, or one with K, M, G or T (powers of 1024)")]
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

/// Reads a number of bytes such as `4096`, `64K`, `4G` or `1T`. Suffixes are powers of 1024; `KiB` and `kb` mean `K`.
///
/// # Errors
/// When it is not such a number, or 2⁶⁴ or more.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, suffix) = text.split_at(digits);
    let malformed = || SizeError::Malformed(text.to_owned());
    let shift = shift_of(suffix).ok_or_else(malformed)?;
    if number.is_empty() {
        return Err(malformed());
    }
    let number: Option<u64> = number.parse().ok();
    number.and_then(|number| number.checked_mul(1 << shift)).ok_or_else(|| SizeError::TooLarge(text.to_owned()))
}

fn shift_of(suffix: &str) -> Option<u32> {
    let suffix = suffix.to_ascii_lowercase();
    let letter = suffix.strip_suffix("ib").or(suffix.strip_suffix('b')).unwrap_or(&suffix);
    match letter {
        "" if !suffix.starts_with('i') => Some(0),
        "k" => Some(10),
        "m" => Some(20),
        "g" => Some(30),
        "t" => Some(40),
        _ => None,
    }
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
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_size() {
        for text in ["", "G", "4X", "-1", "1.5G", " 4", "4 G", "4ib", "0x10"] {
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
