use crate::{Decoder, Encoder, Result};

/// A type that has an XDR form.
pub trait Encode {
    /// Appends the XDR form of this value.
    fn encode(&self, to: &mut Encoder<'_>);
}

/// A type that can be decoded from its XDR form, borrowing from the message where possible.
pub trait Decode<'a>: Sized {
    /// Decodes a value from the front of the remaining bytes.
    ///
    /// # Errors
    /// When the bytes are malformed.
    fn decode(from: &mut Decoder<'a>) -> Result<Self>;
}

impl Encode for () {
    fn encode(&self, _: &mut Encoder<'_>) {}
}

impl Decode<'_> for () {
    fn decode(_: &mut Decoder<'_>) -> Result<Self> {
        Ok(())
    }
}

impl Encode for u32 {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u32(*self);
    }
}

impl Decode<'_> for u32 {
    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self> {
        from.u32()
    }
}

impl Encode for i32 {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u32(self.cast_unsigned());
    }
}

impl Decode<'_> for i32 {
    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self> {
        from.u32().map(u32::cast_signed)
    }
}

impl Encode for u64 {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u64(*self);
    }
}

impl Decode<'_> for u64 {
    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self> {
        from.u64()
    }
}

impl Encode for i64 {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u64(self.cast_unsigned());
    }
}

impl Decode<'_> for i64 {
    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self> {
        from.u64().map(u64::cast_signed)
    }
}

impl Encode for bool {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        to.bool(*self);
    }
}

impl Decode<'_> for bool {
    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self> {
        from.bool()
    }
}

impl<const N: usize> Encode for [u8; N] {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        if N.is_multiple_of(4) { to.buffer().put_arrays([*self]) } else { to.fixed(self) }
    }
}

impl<const N: usize> Decode<'_> for [u8; N] {
    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self> {
        from.fixed()
    }
}

/// A fixed-length array (RFC 4506 §4.12).
impl<const N: usize> Encode for [u32; N] {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        to.words(*self);
    }
}

impl<const N: usize> Decode<'_> for [u32; N] {
    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self> {
        from.words()
    }
}

/// Optional data (RFC 4506 §4.19): a boolean, and the value if it is true.
impl<T: Encode> Encode for Option<T> {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        to.bool(self.is_some());
        if let Some(value) = self {
            value.encode(to);
        }
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Option<T> {
    #[inline]
    fn decode(from: &mut Decoder<'a>) -> Result<Self> {
        Ok(if from.bool()? { Some(T::decode(from)?) } else { None })
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        (**self).encode(to);
    }
}

/// The initial capacity of an array in elements; it grows with the elements that arrive.
const FIRST_ELEMENTS: usize = 16;

impl<'a> Decoder<'a> {
    /// Decodes a variable-length array of at most `max` elements (RFC 4506 §4.13).
    ///
    /// # Errors
    /// [`Error::TooLong`](crate::Error::TooLong), and those of the elements.
    pub fn array<T: Decode<'a>>(&mut self, max: usize) -> Result<Vec<T>> {
        let count = self.count(max)?;
        let mut elements = Vec::with_capacity(count.min(FIRST_ELEMENTS));
        for _ in 0..count {
            elements.push(T::decode(self)?);
        }
        Ok(elements)
    }

    /// Decodes a linked list of at most `max` elements: optional data whose last member is the next one (§4.19).
    ///
    /// # Errors
    /// [`Error::TooLong`](crate::Error::TooLong), and those of the elements.
    pub fn list<T: Decode<'a>>(&mut self, max: usize) -> Result<Vec<T>> {
        let mut elements = Vec::new();
        while self.bool()? {
            if elements.len() == max {
                let length = u32::try_from(max).unwrap_or(u32::MAX).saturating_add(1);
                return Err(crate::Error::TooLong { offset: self.offset() - 4, length, max });
            }
            elements.push(T::decode(self)?);
        }
        Ok(elements)
    }
}

impl Encoder<'_> {
    /// Appends a variable-length array (RFC 4506 §4.13).
    ///
    /// # Panics
    /// When there are 2³² elements or more.
    pub fn array<T: Encode>(&mut self, elements: &[T]) {
        self.count(elements.len());
        elements.iter().for_each(|element| element.encode(self));
    }

    /// Appends a linked list (§4.19).
    pub fn list<T: Encode>(&mut self, elements: &[T]) {
        for element in elements {
            self.bool(true);
            element.encode(self);
        }
        self.bool(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use buffer::Buffer;

    fn bytes(value: &impl Encode) -> Vec<u8> {
        let mut buffer = Buffer::new();
        value.encode(&mut Encoder::new(&mut buffer));
        buffer.as_slice().to_vec()
    }

    #[test]
    fn optional_data_is_a_boolean_and_a_value() {
        assert_eq!(bytes(&Some(7u32)), b"\0\0\0\x01\0\0\0\x07");
        assert_eq!(bytes(&None::<u32>), b"\0\0\0\0");
    }

    #[test]
    fn negative_numbers_are_twos_complement() {
        assert_eq!(bytes(&-1i32), [0xff; 4]);
        assert_eq!(i64::decode(&mut Decoder::new(&[0xff; 8])), Ok(-1));
    }

    #[test]
    fn fixed_array_has_no_length() {
        assert_eq!(bytes(&[1u32, 2]), b"\0\0\0\x01\0\0\0\x02");
        assert_eq!(<[u32; 2]>::decode(&mut Decoder::new(b"\0\0\0\x01\0\0\0\x02")), Ok([1, 2]));
    }

    #[test]
    fn array_that_announces_more_than_it_holds_takes_no_memory_for_it() {
        let error = Decoder::new(b"\x7f\xff\xff\xff\0\0\0\x01").array::<u32>(usize::MAX);
        assert_eq!(error, Err(Error::Truncated { offset: 8, needed: 4, left: 0 }));
    }

    #[test]
    fn endless_list_stops_at_its_limit() {
        let message = b"\0\0\0\x01\0\0\0\x05".repeat(9);
        assert!(matches!(Decoder::new(&message).list::<u32>(8), Err(Error::TooLong { length: 9, max: 8, .. })));
    }
}
