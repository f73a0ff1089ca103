use std::borrow::Cow;
use std::fmt;

/// How to show names from a server, for people or for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// As raw bytes.
    Raw,
    /// With escapes for characters that control a terminal.
    Escaped,
}

impl Shown {
    /// The mode for standard output.
    pub fn on_stdout() -> Shown {
        use std::io::IsTerminal;
        if std::io::stdout().is_terminal() { Shown::Escaped } else { Shown::Raw }
    }

    /// The bytes to print for `name`.
    pub fn bytes(self, name: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Shown::Raw => Cow::Borrowed(name),
            Shown::Escaped => Cow::Owned(display_name(name).to_string().into_bytes()),
        }
    }
}

/// Formats any name for display.
pub fn display_name(name: &[u8]) -> impl fmt::Display + '_ {
    DisplayName(name)
}

struct DisplayName<'a>(&'a [u8]);

impl fmt::Display for DisplayName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match str::from_utf8(self.0) {
            Ok(text) if !text.chars().any(char::is_control) => f.write_str(text),
            _ => self.0.escape_ascii().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_would_command_a_terminal_is_escaped() {
        assert_eq!(Shown::Escaped.bytes(b"a\x1b[2Jb").as_ref(), br"a\x1b[2Jb");
        assert_eq!(Shown::Escaped.bytes(b"a\xffb").as_ref(), br"a\xffb");
        assert_eq!(Shown::Escaped.bytes("naïve".as_bytes()).as_ref(), "naïve".as_bytes());
        assert_eq!(Shown::Raw.bytes(b"a\x1b").as_ref(), b"a\x1b");
    }
}
