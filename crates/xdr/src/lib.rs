//! RFC 4506 (XDR): a codec that borrows what it decodes and never allocates memory by a length from the wire.
//!
//! Each type is described once, with `#[derive(Encode, Decode)]`. The page of the derive macros describes structures,
//! enumerations, unions, bounded opaques and lists.
//!
//! ```
//! use xdr::{Decode, Decoder, Encode, Encoder};
//!
//! #[derive(Debug, PartialEq, Encode, Decode)]
//! struct Greeting<'a> {
//!     number: u32,
//!     #[xdr(max = 16)]
//!     text: &'a [u8],
//! }
//!
//! let mut buffer = buffer::Buffer::new();
//! Greeting { number: 1, text: b"hello" }.encode(&mut Encoder::new(&mut buffer));
//! assert_eq!(buffer.as_slice(), b"\0\0\0\x01\0\0\0\x05hello\0\0\0");
//! let greeting = Greeting::decode(&mut Decoder::new(buffer.as_slice()))?;
//! assert_eq!(greeting.text, b"hello");
//! # Ok::<(), xdr::Error>(())
//! ```
#![forbid(unsafe_code)]

mod codec;
mod decoder;
mod encoder;
mod error;
mod space;

pub use codec::{Decode, Encode};
pub use decoder::Decoder;
pub use encoder::{Encoder, Reserved};
pub use error::{Error, Result};
pub use space::Space;
pub use xdr_derive::{Decode, Encode};

/// The number of padding bytes after an opaque of `length` bytes (RFC 4506 §3).
pub const fn padding(length: usize) -> usize {
    length.wrapping_neg() & 3
}

/// The size of an opaque of `length` bytes with padding, without its length word.
pub const fn padded(length: usize) -> usize {
    length + padding(length)
}
