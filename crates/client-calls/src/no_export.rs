//! The error for a path in no export of the server, with the server's exports.

use std::fmt;

use crate::MountRefusal;

/// How many exports the message lists.
const MAX_NAMED: usize = 16;

/// A server has no export at a path; lists those it has.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoExport {
    /// The server's refusal.
    pub refusal: MountRefusal,
    /// The exported directories, as far as the server tells.
    pub exports: Vec<Vec<u8>>,
}

impl NoExport {
    #[doc(hidden)]
    pub fn new(refusal: MountRefusal, exports: Vec<Vec<u8>>) -> NoExport {
        NoExport { refusal, exports }
    }
}

impl fmt::Display for NoExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server has no such export; ")?;
        if self.exports.is_empty() {
            return f.write_str("it does not tell which it has");
        }
        f.write_str("it exports ")?;
        for (index, export) in self.exports.iter().take(MAX_NAMED).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{}", export.escape_ascii())?;
        }
        match self.exports.len().saturating_sub(MAX_NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(exports: &[&str]) -> String {
        let exports = exports.iter().map(|export| export.as_bytes().to_vec()).collect();
        NoExport { refusal: MountRefusal::NoEntry, exports }.to_string()
    }

    #[test]
    fn exports_are_named_up_to_a_number() {
        assert_eq!(text(&["/a", "/b\n"]), "the server has no such export; it exports /a, /b\\n");
        assert!(text(&["/x"; 20]).ends_with(", /x and 4 more"));
        assert_eq!(text(&[]), "the server has no such export; it does not tell which it has");
    }
}
