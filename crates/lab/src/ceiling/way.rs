use std::fmt;
use std::str::FromStr;

/// How the data of a READ come to the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The same memory for all: the file is not read.
    Memory,
    /// Each block is read from the file into memory, and all are sent at once.
    Copy,
    /// The header, and then sendfile(2), for each.
    Sendfile,
}

/// A text is no way to answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no way to answer: there are memory, copy and sendfile")]
pub struct WayError(String);

impl Way {
    /// All of them.
    pub const ALL: [Way; 3] = [Way::Memory, Way::Copy, Way::Sendfile];

    fn name(self) -> &'static str {
        match self {
            Way::Memory => "memory",
            Way::Copy => "copy",
            Way::Sendfile => "sendfile",
        }
    }
}

impl FromStr for Way {
    type Err = WayError;

    fn from_str(text: &str) -> Result<Way, WayError> {
        Way::ALL.into_iter().find(|way| way.name() == text).ok_or_else(|| WayError(text.to_owned()))
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
