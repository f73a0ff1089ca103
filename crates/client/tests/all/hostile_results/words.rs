//! Results as they are sent, made of words.

use buffer::Buffer;
use proto::nfs4::{OpNumber, Status};
use xdr::{Encode, Encoder};

/// A value as it is sent.
pub fn of(value: &impl Encode) -> Vec<u8> {
    let mut buffer = Buffer::new();
    value.encode(&mut Encoder::new(&mut buffer));
    buffer.as_slice().to_vec()
}

/// These words as they are sent.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// The result of an operation that was carried out, whatever is in it.
pub fn done(operation: OpNumber, parts: &[&[u8]]) -> Vec<u8> {
    [words(&[operation as u32, 0]), parts.concat()].concat()
}

/// The result of an operation that was refused, whatever is in it.
pub fn refused(operation: OpNumber, status: Status, parts: &[&[u8]]) -> Vec<u8> {
    [words(&[operation as u32, status as u32]), parts.concat()].concat()
}

/// As many bytes as said, with the length in front.
pub fn opaque(bytes: &[u8]) -> Vec<u8> {
    let padding = bytes.len().next_multiple_of(4) - bytes.len();
    [&words(&[bytes.len() as u32])[..], bytes, &[0; 3][..padding]].concat()
}
