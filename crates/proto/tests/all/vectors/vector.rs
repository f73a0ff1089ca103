//! Vectors and what is shown by each.
//!
//! A vector is written in hexadecimal digits, which spaces may divide, and in text between apostrophes.

use std::fmt::Debug;

use buffer::Buffer;
use proto::Operation;
use xdr::{Decode, Decoder, Encode, Encoder, Error};

/// The bytes of a vector that is written in several parts.
pub fn wire(parts: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, part) in parts.concat().split('\'').enumerate() {
        match index % 2 {
            0 => push_digits(&mut bytes, part),
            _ => bytes.extend(part.as_bytes()),
        }
    }
    assert!(bytes.len().is_multiple_of(4), "XDR comes in words: {bytes:02x?}");
    bytes
}

fn push_digits(bytes: &mut Vec<u8>, digits: &str) {
    let digits: Vec<char> = digits.chars().filter(|digit| !digit.is_whitespace()).collect();
    for pair in digits.chunks(2) {
        bytes.push(u8::from_str_radix(&String::from_iter(pair), 16).expect("hexadecimal digits"));
    }
}

/// Shows that `bytes` are the arguments `value` of the operation, and nothing shorter is any.
pub fn arguments<'a, O: Operation>(bytes: &'a [u8], value: O::Arguments<'a>)
where
    O::Arguments<'a>: PartialEq + Debug,
{
    both_ways(O::NAME, bytes, value);
}

/// Shows that `bytes` are the reply `value` of the operation, and nothing shorter is any.
pub fn reply<'a, O: Operation>(bytes: &'a [u8], value: O::Reply<'a>)
where
    O::Reply<'a>: PartialEq + Debug,
{
    both_ways(O::NAME, bytes, value);
}

/// Shows that `bytes` are `value`, and nothing shorter is any.
pub fn both_ways<'a, T: Encode + Decode<'a> + PartialEq + Debug>(name: &str, bytes: &'a [u8], value: T) {
    let mut from = Decoder::new(bytes);
    assert_eq!(T::decode(&mut from).as_ref(), Ok(&value), "{name} decoded");
    assert_eq!(from.rest(), b"", "{name} leaves nothing");
    let mut buffer = Buffer::new();
    value.encode(&mut Encoder::new(&mut buffer));
    assert_eq!(buffer.as_slice(), bytes, "{name} encoded");
    for length in 0..bytes.len() {
        let result = T::decode(&mut Decoder::new(&bytes[..length]));
        assert!(matches!(result, Err(Error::Truncated { .. })), "{name} cut to {length} bytes: {result:?}");
    }
}

/// Shows that `bytes`, which end right behind a length, are refused for it as the operation's arguments.
pub fn arguments_too_long<'a, O: Operation>(bytes: &'a [u8], max: usize) {
    too_long::<O::Arguments<'a>>(O::NAME, bytes, max);
}

/// Shows that `bytes`, which end right behind a length, are refused for it as the operation's reply.
pub fn reply_too_long<'a, O: Operation>(bytes: &'a [u8], max: usize) {
    too_long::<O::Reply<'a>>(O::NAME, bytes, max);
}

/// Shows that `bytes`, which end right behind a length, are refused for it.
pub fn too_long<'a, T: Decode<'a>>(name: &str, bytes: &'a [u8], limit: usize) {
    let error = T::decode(&mut Decoder::new(bytes)).err();
    let at_the_end =
        matches!(error, Some(Error::TooLong { max, offset, .. }) if max == limit && offset + 4 == bytes.len());
    assert!(at_the_end, "{name}: {error:?}");
}

/// Shows that `bytes` hold a value that the operation's arguments cannot have.
pub fn arguments_bad<O: Operation>(bytes: &[u8]) {
    let error = O::Arguments::decode(&mut Decoder::new(bytes)).err();
    assert!(matches!(error, Some(Error::BadValue { .. })), "{}: {error:?}", O::NAME);
}

/// Shows that `bytes` hold a value that the operation's reply cannot have.
pub fn reply_bad<O: Operation>(bytes: &[u8]) {
    let error = O::Reply::decode(&mut Decoder::new(bytes)).err();
    assert!(matches!(error, Some(Error::BadValue { .. })), "{}: {error:?}", O::NAME);
}

/// An operation's program, version, number and name.
pub fn identity<O: Operation>() -> (u32, u32, u32, &'static str) {
    (O::PROGRAM, O::VERSION, O::PROCEDURE, O::NAME)
}
