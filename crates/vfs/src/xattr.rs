/// The name of a user extended attribute, without the prefix `user.` of operating systems (RFC 8276 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct XattrName<'a>(&'a [u8]);

/// Why bytes are not the name of an extended attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum XattrNameError {
    /// There are none.
    #[error("the name of an extended attribute is empty")]
    Empty,
    /// There are too many.
    #[error("the name of an extended attribute is longer than {} bytes", XattrName::MAX_BYTES)]
    TooLong,
    /// A NUL is among them.
    #[error("the name of an extended attribute has a NUL in it")]
    BadByte,
}

impl<'a> XattrName<'a> {
    /// The longest name, in bytes: Linux allows 255 including `user.`.
    pub const MAX_BYTES: usize = 250;

    /// Makes a name of `bytes`.
    ///
    /// # Errors
    /// An [`XattrNameError`] when there are none, too many, or a NUL is among them.
    pub fn new(bytes: &'a [u8]) -> Result<XattrName<'a>, XattrNameError> {
        match bytes {
            [] => Err(XattrNameError::Empty),
            _ if bytes.len() > Self::MAX_BYTES => Err(XattrNameError::TooLong),
            _ if bytes.contains(&0) => Err(XattrNameError::BadByte),
            _ => Ok(XattrName(bytes)),
        }
    }

    /// The name.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

/// How a set treats an existing or missing extended attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum XattrMode {
    /// Create or replace it.
    Either,
    /// Refuse with [`Error::Exists`](crate::Error::Exists) if it exists.
    Create,
    /// Refuse with [`Error::NoEntry`](crate::Error::NoEntry) if it does not exist.
    Replace,
}

/// An extended attribute to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetXattr<'a> {
    /// Its name.
    pub name: XattrName<'a>,
    /// Its value.
    pub value: &'a [u8],
    /// How to treat an existing or missing attribute.
    pub mode: XattrMode,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_1_to_250_bytes_without_nul_and_may_have_dots_and_slashes() {
        assert_eq!(XattrName::new(b""), Err(XattrNameError::Empty));
        assert_eq!(XattrName::new(&[b'x'; 251]), Err(XattrNameError::TooLong));
        assert_eq!(XattrName::new(b"a\0b"), Err(XattrNameError::BadByte));
        assert!(XattrName::new(&[b'x'; 250]).is_ok() && XattrName::new(b"../a/b").is_ok());
    }
}
