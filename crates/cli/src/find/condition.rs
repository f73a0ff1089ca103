//! Kinds, sizes and ages as find(1) reads them.

use std::cmp::Ordering;
use std::str::FromStr;

use vfs::FileKind;

/// Kinds of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kinds(Vec<FileKind>);

impl FromStr for Kinds {
    type Err = String;

    fn from_str(text: &str) -> Result<Kinds, String> {
        let kind = |letter: &str| {
            Ok(match letter {
                "f" => FileKind::Regular,
                "d" => FileKind::Directory,
                "l" => FileKind::Symlink,
                "b" => FileKind::BlockDevice,
                "c" => FileKind::CharDevice,
                "p" => FileKind::Fifo,
                "s" => FileKind::Socket,
                _ => return Err("write f, d, l, b, c, p or s, or several with commas".to_owned()),
            })
        };
        text.split(',').map(kind).collect::<Result<_, _>>().map(Kinds)
    }
}

impl Kinds {
    /// Whether `kind` is one of them.
    pub fn contains(&self, kind: FileKind) -> bool {
        self.0.contains(&kind)
    }
}

/// A number to compare with, in a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    wanted: Ordering,
    number: i64,
    unit: i64,
}

impl Amount {
    /// Reads a size.
    ///
    /// # Errors
    /// A message for the user.
    pub fn parse_size(text: &str) -> Result<Amount, String> {
        let units = [("c", 1), ("k", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("b", 512), ("w", 2)];
        let found = units.iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)));
        let (text, unit) = found.unwrap_or((text, 512));
        Amount::parse(text, unit)
            .ok_or_else(|| "write a number with c, k, M, G or b, and + or - in front of it".to_owned())
    }

    /// Reads a number of days.
    ///
    /// # Errors
    /// A message for the user.
    pub fn parse_days(text: &str) -> Result<Amount, String> {
        Amount::parse(text, 1).ok_or_else(|| "write a number of days, and + or - in front of it".to_owned())
    }

    fn parse(text: &str, unit: i64) -> Option<Amount> {
        let (wanted, digits) = match text.as_bytes().first()? {
            b'+' => (Ordering::Greater, &text[1..]),
            b'-' => (Ordering::Less, &text[1..]),
            _ => (Ordering::Equal, text),
        };
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        Some(Amount { wanted, number: digits.parse().ok().filter(|_| is_number)?, unit })
    }

    /// Whether a number of bytes or days, rounded up to the unit, compares as wanted.
    pub fn matches(self, found: i64) -> bool {
        (found / self.unit + i64::from(found % self.unit > 0)).cmp(&self.number) == self.wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_and_compared() {
        for (text, bytes, is_match) in [
            ("1", 512, true),
            ("1", 513, false),
            ("3c", 3, true),
            ("+1k", 1024, false),
            ("+1k", 1025, true),
            ("-1M", 1, false),
            ("-1M", 0, true),
            ("0", 0, true),
        ] {
            assert_eq!(Amount::parse_size(text).unwrap().matches(bytes), is_match, "{text} of {bytes}");
        }
        for text in ["", "+", "1x", "--1", "+-1"] {
            assert!(Amount::parse_size(text).is_err() && Amount::parse_days(text).is_err(), "{text}");
        }
        assert!("f,d".parse::<Kinds>().unwrap().contains(FileKind::Directory) && "x".parse::<Kinds>().is_err());
    }
}
