//! Attributes of a file on the wire: a mask, then the values in the order of their numbers (`fattr4`).

use buffer::Buffer;
use xdr::{Decode, Decoder, Encode, Encoder};

use super::super::{Bitmap, MAX_ATTRIBUTES_BYTES};
use super::{Attribute, AttributeValue};

/// Attributes that are not decoded yet: [`Fattr::values`] reports their errors, so that the operations behind them can
/// still be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Fattr<'a> {
    /// The attributes.
    pub mask: Bitmap,
    /// Their values.
    #[xdr(max = MAX_ATTRIBUTES_BYTES)]
    pub values: &'a [u8],
}

/// The reason why attributes cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FattrError {
    /// An attribute has no codec here; a server answers ATTRNOTSUPP.
    #[error("attribute {number} is not supported")]
    NotSupported {
        /// Its number; [`Bitmap::BEYOND`] stands for all numbers from there on.
        number: u32,
    },
    /// A value is malformed; a server answers BADXDR.
    #[error("value of an attribute: {0}")]
    Value(#[from] xdr::Error),
    /// Bytes follow the last value; a server answers BADXDR.
    #[error("{bytes} bytes behind the last attribute")]
    Trailing {
        /// Their number.
        bytes: usize,
    },
}

impl<'a> Fattr<'a> {
    /// No attributes.
    pub const EMPTY: Fattr<'static> = Fattr { mask: Bitmap::EMPTY, values: &[] };

    /// Encodes values into an empty `buffer` and borrows them from there.
    ///
    /// # Panics
    /// When the attributes are not in the order of their numbers.
    pub fn collect(values: &[AttributeValue<'_>], buffer: &'a mut Buffer) -> Fattr<'a> {
        buffer.clear();
        let mut mask = Bitmap::EMPTY;
        let mut last = None;
        for value in values {
            let attribute = value.attribute();
            assert!(last < Some(attribute), "{attribute:?} behind {last:?}");
            last = Some(attribute);
            mask.insert(attribute.number());
            value.encode(&mut Encoder::new(buffer));
        }
        Fattr { mask, values: buffer.as_slice() }
    }

    /// Appends the attributes of a mask one by one, without a copy: `put` appends the value of each. When it fails,
    /// nothing is appended.
    ///
    /// ```
    /// use proto::nfs4::{Attribute, Fattr};
    ///
    /// let mut buffer = buffer::Buffer::new();
    /// let mut to = xdr::Encoder::new(&mut buffer);
    /// let mask = Attribute::set(&[Attribute::Change, Attribute::Size]);
    /// let written: Result<(), ()> = Fattr::write(mask, &mut to, |attribute, to| {
    ///     to.u64(if attribute == Attribute::Change { 7 } else { 4096 });
    ///     Ok(())
    /// });
    /// assert_eq!((written, buffer.len()), (Ok(()), 4 + 4 + 4 + 16));
    /// ```
    ///
    /// # Errors
    /// Those of `put`.
    ///
    /// # Panics
    /// When a number in the mask is not an attribute, and in debug builds when `put` appends something else than one
    /// value of each attribute.
    #[inline]
    pub fn write<E>(
        mask: Bitmap,
        to: &mut Encoder<'_>,
        mut put: impl FnMut(Attribute, &mut Encoder<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        Self::enclose(mask, to, |to| {
            let mut attributes =
                mask.iter().map(|number| Attribute::from_number(number).expect("the mask holds attributes"));
            attributes.try_for_each(|attribute| put(attribute, to))
        })
    }

    /// Appends the attributes of a mask, whose values `put` appends in the order of their numbers. When it fails,
    /// nothing is appended.
    ///
    /// # Errors
    /// Those of `put`.
    ///
    /// # Panics
    /// In debug builds, when `put` appends something else.
    #[inline]
    pub fn enclose<E>(
        mask: Bitmap,
        to: &mut Encoder<'_>,
        put: impl FnOnce(&mut Encoder<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = to.len();
        mask.encode(to);
        let length = to.reserve_u32();
        let start = to.len();
        if let Err(error) = put(to) {
            to.truncate(begin);
            return Err(error);
        }
        debug_assert!(
            Fattr { mask, values: &to.buffer().as_slice()[start..] }.values().all(|value| value.is_ok()),
            "values are not those of {mask:?}"
        );
        let bytes = u32::try_from(to.len() - start).expect("attributes are far shorter than 4 GiB");
        to.fill(length, bytes);
        Ok(())
    }

    /// Reads the attributes one by one, in the order of their numbers. `take` reads the value of each, or skips it with
    /// [`AttributeValue::skip`]. This takes a fraction of the time that [`Fattr::values`] takes, which makes a value of
    /// the size of the largest for each.
    ///
    /// ```
    /// use proto::nfs4::{Attribute, AttributeValue, Fattr};
    ///
    /// let mut buffer = buffer::Buffer::new();
    /// let fattr = Fattr::collect(&[AttributeValue::Change(7), AttributeValue::Size(4096)], &mut buffer);
    /// let mut size = None;
    /// let read = fattr.read(|attribute, from| match attribute {
    ///     Attribute::Size => Ok(size = Some(from.u64()?)),
    ///     other => AttributeValue::skip(other, from),
    /// });
    /// assert_eq!((read, size), (Ok(()), Some(4096)));
    /// ```
    ///
    /// # Errors
    /// Those of `take`, and for an unknown attribute or bytes behind the last one.
    #[inline]
    pub fn read(
        &self,
        mut take: impl FnMut(Attribute, &mut Decoder<'a>) -> Result<(), FattrError>,
    ) -> Result<(), FattrError> {
        let mut from = Decoder::new(self.values);
        for number in self.mask.iter() {
            take(Attribute::from_number(number).ok_or(FattrError::NotSupported { number })?, &mut from)?;
        }
        match from.rest().len() {
            0 => Ok(()),
            bytes => Err(FattrError::Trailing { bytes }),
        }
    }

    /// The values in the order of their numbers, up to the first error.
    pub fn values(&self) -> FattrValues<'a> {
        FattrValues { left: self.mask, from: Decoder::new(self.values) }
    }
}

/// An iterator over the values of a [`Fattr`].
#[derive(Debug, Clone)]
pub struct FattrValues<'a> {
    left: Bitmap,
    from: Decoder<'a>,
}

impl<'a> FattrValues<'a> {
    fn read(&mut self, number: u32) -> Result<AttributeValue<'a>, FattrError> {
        let attribute = Attribute::from_number(number).ok_or(FattrError::NotSupported { number })?;
        let value = AttributeValue::decode(attribute, &mut self.from)?;
        value.ok_or(FattrError::NotSupported { number })
    }

    /// Ends the values, which must also end the bytes.
    fn end(&mut self) -> Option<Result<AttributeValue<'a>, FattrError>> {
        let bytes = self.from.rest().len();
        self.from = Decoder::new(&[]);
        (bytes > 0).then_some(Err(FattrError::Trailing { bytes }))
    }
}

impl<'a> Iterator for FattrValues<'a> {
    type Item = Result<AttributeValue<'a>, FattrError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(number) = self.left.first() else { return self.end() };
        self.left.remove(number);
        let value = self.read(number);
        if value.is_err() {
            *self = FattrValues { left: Bitmap::EMPTY, from: Decoder::new(&[]) };
        }
        Some(value)
    }
}
