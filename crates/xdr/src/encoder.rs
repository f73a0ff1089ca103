use buffer::Buffer;

use crate::{Space, padded, padding};

/// Appends XDR items to a [`Buffer`].
#[derive(Debug)]
pub struct Encoder<'b> {
    buffer: &'b mut Buffer,
}

/// A word that was reserved, to be filled in later.
#[derive(Debug)]
#[must_use = "a reserved word that is not filled in stays zero"]
pub struct Reserved(usize);

impl<'b> Encoder<'b> {
    /// Appends to the contents of `buffer`.
    #[inline]
    pub fn new(buffer: &'b mut Buffer) -> Encoder<'b> {
        Encoder { buffer }
    }

    /// The number of bytes in the buffer.
    #[inline]
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// Whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Appends an unsigned integer (RFC 4506 §4.2).
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.buffer.put_arrays([value.to_be_bytes()]);
    }

    /// Appends an unsigned hyper integer (§4.5).
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.buffer.put_arrays([value.to_be_bytes()]);
    }

    /// Appends unsigned integers, in one step.
    #[inline]
    pub fn words<const N: usize>(&mut self, words: [u32; N]) {
        self.buffer.put_arrays(words.map(u32::to_be_bytes));
    }

    /// Appends items of fixed size, at most `N` bytes, into space that is reserved once.
    #[inline]
    pub fn in_space<const N: usize>(&mut self, put: impl FnOnce(&mut Space<'_>)) {
        let mut space = Space::new(self.buffer.space(N));
        put(&mut space);
        let put_bytes = N - space.left();
        self.buffer.advance(put_bytes);
    }

    /// Appends a boolean (§4.4).
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.u32(u32::from(value));
    }

    /// Appends a fixed-length opaque (§4.9).
    #[inline]
    pub fn fixed(&mut self, bytes: &[u8]) {
        let padded = padded(bytes.len());
        let space = self.buffer.space(padded);
        // The whole last word is cleared first: a constant size needs no call.
        if let Some(last) = space.last_chunk_mut() {
            *last = [0; 4];
        }
        space[..bytes.len()].copy_from_slice(bytes);
        self.buffer.advance(padded);
    }

    /// Appends a variable-length opaque or a string (§4.10, §4.11).
    ///
    /// # Panics
    /// When there are 2³² bytes or more.
    #[inline(always)]
    pub fn opaque(&mut self, bytes: &[u8]) {
        let encoded = 4 + padded(bytes.len());
        let space = self.buffer.space(encoded);
        // The whole last word is cleared first: a constant size needs no call.
        if let Some(last) = space.last_chunk_mut() {
            *last = [0; 4];
        }
        let (count, content) = space.split_at_mut(4);
        count.copy_from_slice(&word(bytes.len()).to_be_bytes());
        content[..bytes.len()].copy_from_slice(bytes);
        self.buffer.advance(encoded);
    }

    /// Appends a short variable-length opaque: the first `length` of `bytes`, behind which are zeros. It is copied with
    /// its padding, in one step of constant size.
    ///
    /// # Panics
    /// When there are fewer bytes.
    #[inline]
    pub fn short_opaque<const N: usize>(&mut self, bytes: &[u8; N], length: usize) {
        const { assert!(N.is_multiple_of(4), "the padding is part of the bytes") };
        assert!(length <= N, "an opaque longer than its bytes");
        debug_assert!(bytes[length..padded(length)].iter().all(|byte| *byte == 0), "padding is zero");
        let (count, space) = self.buffer.space(4 + N).split_at_mut(4);
        count.copy_from_slice(&(length as u32).to_be_bytes());
        space.copy_from_slice(bytes);
        self.buffer.advance(4 + padded(length));
    }

    /// Appends the length of a variable-length item.
    ///
    /// # Panics
    /// When it does not fit in 32 bits.
    #[inline]
    pub fn count(&mut self, count: usize) {
        self.u32(word(count));
    }

    /// Appends the padding that follows an opaque of `length` bytes.
    #[inline]
    pub fn pad(&mut self, length: usize) {
        self.buffer.space(4).copy_from_slice(&[0; 4]);
        self.buffer.advance(padding(length));
    }

    /// Reserves a word.
    #[inline]
    pub fn reserve_u32(&mut self) -> Reserved {
        let reserved = Reserved(self.buffer.len());
        self.u32(0);
        reserved
    }

    /// Fills in a reserved word.
    #[inline]
    pub fn fill(&mut self, reserved: Reserved, value: u32) {
        self.buffer.as_mut_slice()[reserved.0..reserved.0 + 4].copy_from_slice(&value.to_be_bytes());
    }

    /// Removes everything after the first `length` bytes.
    pub fn truncate(&mut self, length: usize) {
        self.buffer.truncate(length);
    }

    /// The buffer itself, to append bytes without a copy.
    pub fn buffer(&mut self) -> &mut Buffer {
        self.buffer
    }
}

fn word(count: usize) -> u32 {
    u32::try_from(count).expect("an item of this process has fewer than 2^32 elements")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_opaque_has_the_bytes_of_any_other() {
        let bytes = *b"abcdefgh";
        for length in 0..=bytes.len() {
            let mut cleared = [0; 8];
            cleared[..length].copy_from_slice(&bytes[..length]);
            let (mut short, mut any) = (Buffer::new(), Buffer::new());
            Encoder::new(&mut short).short_opaque(&cleared, length);
            Encoder::new(&mut any).opaque(&bytes[..length]);
            assert_eq!(short.as_slice(), any.as_slice());
        }
    }

    #[test]
    fn space_that_is_reserved_at_once_leaves_only_what_was_put() {
        let mut buffer = Buffer::new();
        Encoder::new(&mut buffer).in_space::<64>(|to| {
            to.u64(1);
            to.u32(2);
        });
        assert_eq!(buffer.as_slice(), b"\0\0\0\0\0\0\0\x01\0\0\0\x02");
    }

    #[test]
    #[should_panic(expected = "large enough")]
    fn more_than_the_reserved_space_is_a_panic() {
        Encoder::new(&mut Buffer::new()).in_space::<4>(|to| to.u64(1));
    }

    #[test]
    fn filled_word_stands_where_it_was_reserved() {
        let mut buffer = Buffer::new();
        let mut encoder = Encoder::new(&mut buffer);
        let reserved = encoder.reserve_u32();
        encoder.u32(2);
        encoder.fill(reserved, 1);
        assert_eq!(buffer.as_slice(), b"\0\0\0\x01\0\0\0\x02");
    }
}
