//! Decode, encode, decode again.

use std::fmt::Debug;

use buffer::Buffer;
use proto::Operation;
use xdr::{Decode, Decoder, Encode, Encoder};

/// The property of the arguments of an operation.
pub fn arguments<O: Operation>(input: &[u8]) -> bool
where
    for<'a> O::Arguments<'a>: PartialEq + Debug,
{
    round_trip::<O::Arguments<'_>>(input, &mut Buffer::new())
}

/// The property of the reply of an operation.
pub fn reply<O: Operation>(input: &[u8]) -> bool
where
    for<'a> O::Reply<'a>: PartialEq + Debug,
{
    round_trip::<O::Reply<'_>>(input, &mut Buffer::new())
}

/// What `input` decodes to comes back out of its encoding, which has no more bytes than were read: sets of numbers lose
/// their trailing zeros.
pub fn shortest<'a, T: Encode + Decode<'a> + PartialEq + Debug>(input: &'a [u8], buffer: &'a mut Buffer) -> bool {
    let mut from = Decoder::new(input);
    let Ok(value) = T::decode(&mut from) else { return false };
    value.encode(&mut Encoder::new(buffer));
    assert!(buffer.len() <= from.offset(), "{value:?}");
    let mut again = Decoder::new(buffer.as_slice());
    assert_eq!(T::decode(&mut again), Ok(value));
    assert_eq!(again.rest(), b"");
    true
}

/// What `input` decodes to has one encoding, of as many bytes as were read; only the padding may differ.
fn round_trip<'a, T: Encode + Decode<'a> + PartialEq + Debug>(input: &'a [u8], buffer: &'a mut Buffer) -> bool {
    let mut from = Decoder::new(input);
    let Ok(value) = T::decode(&mut from) else { return false };
    value.encode(&mut Encoder::new(buffer));
    let mut again = Decoder::new(buffer.as_slice());
    assert_eq!(T::decode(&mut again), Ok(value));
    assert_eq!(again.offset(), from.offset());
    true
}
