use std::fmt;

/// The minor versions of NFSv4 (RFC 8178 §2), oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MinorVersion {
    /// NFSv4.0 (RFC 7530).
    V0 = 0,
    /// NFSv4.1 (RFC 8881).
    V1 = 1,
    /// NFSv4.2 (RFC 7862), with extended attributes (RFC 8276).
    V2 = 2,
}

impl MinorVersion {
    /// The minor version of this number, or `None`: a server then answers MINOR_VERS_MISMATCH.
    pub const fn from_number(number: u32) -> Option<MinorVersion> {
        match number {
            0 => Some(MinorVersion::V0),
            1 => Some(MinorVersion::V1),
            2 => Some(MinorVersion::V2),
            _ => None,
        }
    }

    /// The number in a COMPOUND.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Whether requests are ordered by sessions, and not by the seqids of owners.
    pub const fn has_sessions(self) -> bool {
        !matches!(self, MinorVersion::V0)
    }
}

impl fmt::Display for MinorVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "4.{}", self.number())
    }
}
