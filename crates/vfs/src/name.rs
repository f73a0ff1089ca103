use std::fmt;

/// One component of a path.
///
/// A name is 1 to [`Name::MAX_BYTES`] bytes without `/` and NUL, not necessarily UTF-8, and never `.` or `..`. A server
/// handles those itself ([`FileSystem::parent`](crate::FileSystem::parent)), so that no name leads out of a directory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name<'a>(&'a [u8]);

/// Why some bytes are not a [`Name`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There are no bytes.
    #[error("the name is empty")]
    Empty,
    /// There are more than [`Name::MAX_BYTES`] bytes.
    #[error("the name is longer than 255 bytes")]
    TooLong,
    /// There is a `/` or a NUL in it.
    #[error("the name contains '/' or NUL")]
    BadByte,
    /// It is `.` or `..`.
    #[error("the name is '.' or '..'")]
    Dots,
}

impl<'a> Name<'a> {
    /// The longest name, in bytes (NAME_MAX of every Linux file system).
    pub const MAX_BYTES: usize = 255;

    /// Checks `bytes` and makes a name of them.
    ///
    /// # Errors
    /// A [`NameError`] for each rule above.
    pub fn new(bytes: &'a [u8]) -> Result<Name<'a>, NameError> {
        match bytes {
            [] => Err(NameError::Empty),
            b"." | b".." => Err(NameError::Dots),
            _ if bytes.len() > Self::MAX_BYTES => Err(NameError::TooLong),
            _ if bytes.iter().any(|byte| matches!(byte, b'/' | 0)) => Err(NameError::BadByte),
            _ => Ok(Name(bytes)),
        }
    }

    /// The bytes of this name.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_ascii().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_that_is_not_utf8_is_a_name() {
        assert!(Name::new(&[0xff; 255]).is_ok());
    }

    #[test]
    fn name_that_could_leave_its_directory_is_refused() {
        assert_eq!(Name::new(b""), Err(NameError::Empty));
        assert_eq!(Name::new(b"."), Err(NameError::Dots));
        assert_eq!(Name::new(b".."), Err(NameError::Dots));
        assert_eq!(Name::new(b"a/b"), Err(NameError::BadByte));
        assert_eq!(Name::new(b"a\0b"), Err(NameError::BadByte));
        assert_eq!(Name::new(&[b'a'; 256]), Err(NameError::TooLong));
    }
}
