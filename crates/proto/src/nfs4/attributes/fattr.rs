//! Attributes of a file on the wire: a mask, then the values in the order of their numbers (`fattr4`).

use buffer::Buffer;
use xdr::{Decode, Decoder, Encode, Encoder, Reserved};

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

/// Encodes attributes one by one after a known mask, without a copy.
///
/// ```
/// use proto::nfs4::{Attribute, AttributeValue, FattrWriter};
///
/// let mut buffer = buffer::Buffer::new();
/// let mut to = xdr::Encoder::new(&mut buffer);
/// let mask = Attribute::set(&[Attribute::Change, Attribute::Size]);
/// let mut attributes = FattrWriter::begin(&mut to, mask);
/// while let Some(attribute) = attributes.wanted() {
///     attributes.put(&match attribute {
///         Attribute::Change => AttributeValue::Change(7),
///         _ => AttributeValue::Size(4096),
///     });
/// }
/// attributes.finish();
/// assert_eq!(buffer.len(), 4 + 4 + 4 + 16);
/// ```
#[derive(Debug)]
pub struct FattrWriter<'e, 'b> {
    to: &'e mut Encoder<'b>,
    left: Bitmap,
    length: Reserved,
    start: usize,
}

impl<'e, 'b> FattrWriter<'e, 'b> {
    /// Appends the mask.
    pub fn begin(to: &'e mut Encoder<'b>, mask: Bitmap) -> FattrWriter<'e, 'b> {
        mask.encode(to);
        let length = to.reserve_u32();
        let start = to.len();
        FattrWriter { to, left: mask, length, start }
    }

    /// The next attribute to append, or `None` when all are done.
    ///
    /// # Panics
    /// When a number in the mask is not an attribute.
    pub fn wanted(&self) -> Option<Attribute> {
        let number = self.left.first()?;
        Some(Attribute::from_number(number).expect("the mask of a writer holds attributes"))
    }

    /// Appends the value of the next attribute.
    ///
    /// # Panics
    /// When the value belongs to another attribute.
    // Inlined, a value that the caller has just made is appended without a copy of the large enumeration.
    #[inline(always)]
    pub fn put(&mut self, value: &AttributeValue<'_>) {
        let number = value.attribute().number();
        assert_eq!(self.left.first(), Some(number), "attributes are written in the order of their numbers");
        value.encode(self.to);
        self.left.remove(number);
    }

    /// Appends the value of the next attribute, which has the type of that attribute in [`AttributeValue`]. It costs
    /// less than [`FattrWriter::put`].
    ///
    /// # Panics
    /// When the next attribute is another one, and in debug builds when the value has another type.
    #[inline(always)]
    pub fn put_value(&mut self, attribute: Attribute, value: &impl Encode) {
        let (number, start) = (attribute.number(), self.to.len());
        assert_eq!(self.left.first(), Some(number), "attributes are written in the order of their numbers");
        value.encode(self.to);
        debug_assert!(is_value_of(attribute, &self.to.buffer().as_slice()[start..]), "{attribute:?}");
        self.left.remove(number);
    }

    /// Fills in the length of the values.
    ///
    /// # Panics
    /// When a value is missing.
    pub fn finish(self) {
        assert!(self.left.is_empty(), "attributes without a value: {:?}", self.left);
        let length = self.to.len() - self.start;
        self.to.fill(self.length, u32::try_from(length).expect("attributes are far shorter than 4 GiB"));
    }
}

/// Whether the bytes are a value of this attribute, and nothing else.
fn is_value_of(attribute: Attribute, bytes: &[u8]) -> bool {
    let mut from = Decoder::new(bytes);
    matches!(AttributeValue::decode(attribute, &mut from), Ok(Some(_))) && from.rest().is_empty()
}
