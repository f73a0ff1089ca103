use crate::{Error, Result, padded};

/// Decodes XDR items from the front of a message.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    rest: &'a [u8],
    /// The length of the whole message: every decoded item changes `rest` alone.
    length: usize,
}

impl<'a> Decoder<'a> {
    /// Starts at the front of `message`.
    pub fn new(message: &'a [u8]) -> Decoder<'a> {
        Decoder { rest: message, length: message.len() }
    }

    /// The bytes that were not decoded yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The number of decoded bytes.
    pub fn offset(&self) -> usize {
        self.length - self.rest.len()
    }

    /// Decodes an unsigned integer (RFC 4506 §4.2).
    ///
    /// # Errors
    /// [`Error::Truncated`].
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.fixed::<4>().map(u32::from_be_bytes)
    }

    /// Decodes an unsigned hyper integer (§4.5).
    ///
    /// # Errors
    /// [`Error::Truncated`].
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        self.fixed::<8>().map(u64::from_be_bytes)
    }

    /// Decodes unsigned integers, in one step.
    ///
    /// # Errors
    /// [`Error::Truncated`].
    #[inline]
    pub fn words<const N: usize>(&mut self) -> Result<[u32; N]> {
        match self.rest.as_chunks().0.first_chunk::<N>() {
            Some(words) => {
                self.rest = &self.rest[4 * N..];
                Ok(words.map(u32::from_be_bytes))
            }
            None => Err(self.truncated(4 * N)),
        }
    }

    /// Decodes a boolean (§4.4).
    ///
    /// # Errors
    /// [`Error::Truncated`], or [`Error::BadValue`] for anything but 0 and 1.
    #[inline]
    pub fn bool(&mut self) -> Result<bool> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(self.bad_value("bool", value)),
        }
    }

    /// Decodes a fixed-length opaque whose length is a multiple of four (§4.9).
    ///
    /// # Errors
    /// [`Error::Truncated`].
    #[inline]
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        const { assert!(N.is_multiple_of(4), "a fixed opaque of this length would be padded") };
        match self.rest.split_first_chunk::<N>() {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(*bytes)
            }
            None => Err(self.truncated(N)),
        }
    }

    /// Decodes a variable-length opaque or a string of at most `max` bytes (§4.10, §4.11), without a copy.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::Truncated`].
    #[inline]
    pub fn opaque(&mut self, max: usize) -> Result<&'a [u8]> {
        let length = self.count(max)?;
        let taken = padded(length);
        match self.rest.split_at_checked(taken) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(&bytes[..length])
            }
            None => Err(self.truncated(taken)),
        }
    }

    /// Decodes the length of a variable-length item of at most `max` elements.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::Truncated`].
    #[inline]
    pub fn count(&mut self, max: usize) -> Result<usize> {
        let length = self.u32()?;
        if length as usize > max {
            return Err(Error::TooLong { offset: self.offset() - 4, length, max });
        }
        Ok(length as usize)
    }

    /// The error for a just decoded `value` that the type `type_name` does not have.
    #[cold]
    pub fn bad_value(&self, type_name: &'static str, value: u32) -> Error {
        Error::BadValue { offset: self.offset() - 4, type_name, value }
    }

    #[cold]
    fn truncated(&self, needed: usize) -> Error {
        Error::Truncated { offset: self.offset(), needed, left: self.rest.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_without_its_padding_is_truncated() {
        assert_eq!(Decoder::new(b"\0\0\0\x01a\0\0").opaque(8), Err(Error::Truncated { offset: 4, needed: 4, left: 3 }));
    }

    #[test]
    fn length_over_the_limit_is_refused_before_its_bytes_are_looked_at() {
        assert_eq!(
            Decoder::new(b"\xff\xff\xff\xff").opaque(8),
            Err(Error::TooLong { offset: 0, length: u32::MAX, max: 8 })
        );
    }

    #[test]
    fn boolean_of_two_is_refused() {
        let error = Decoder::new(b"\0\0\0\x02").bool();
        assert_eq!(error, Err(Error::BadValue { offset: 0, type_name: "bool", value: 2 }));
    }
}
