use std::{fmt, mem};

use xdr::{Decode, Decoder, Encode, Encoder};

use super::MAX_BITMAP_WORDS;

/// A set of numbers: attributes, operations or hints (RFC 7531 and RFC 5662 §3, `bitmap4`).
///
/// No minor version defines numbers over 127, so all of these are stored as one, [`Bitmap::BEYOND`]. A set thus stays
/// small, and still shows that it contained unknown numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Bitmap {
    bits: u128,
    beyond: bool,
}

/// The number of words for distinct numbers.
const KEPT_WORDS: usize = 4;
const BYTES_KEPT: usize = KEPT_WORDS * 4;

impl Bitmap {
    /// Stands for every number from here on.
    pub const BEYOND: u32 = 128;
    /// The empty set.
    pub const EMPTY: Bitmap = Bitmap { bits: 0, beyond: false };

    /// The set of these numbers.
    pub const fn of(numbers: &[u32]) -> Bitmap {
        let mut set = Bitmap::EMPTY;
        let mut index = 0;
        while index < numbers.len() {
            set.insert(numbers[index]);
            index += 1;
        }
        set
    }

    /// Inserts a number.
    pub const fn insert(&mut self, number: u32) {
        match 1_u128.checked_shl(number) {
            Some(bit) => self.bits |= bit,
            None => self.beyond = true,
        }
    }

    /// Removes a number.
    pub const fn remove(&mut self, number: u32) {
        match 1_u128.checked_shl(number) {
            Some(bit) => self.bits &= !bit,
            None => self.beyond = false,
        }
    }

    /// Whether the number is in the set.
    pub const fn contains(&self, number: u32) -> bool {
        match 1_u128.checked_shl(number) {
            Some(bit) => self.bits & bit != 0,
            None => self.beyond,
        }
    }

    /// Whether the set is empty.
    pub const fn is_empty(&self) -> bool {
        self.bits == 0 && !self.beyond
    }

    /// The intersection of both sets.
    pub const fn intersection(self, other: Bitmap) -> Bitmap {
        Bitmap { bits: self.bits & other.bits, beyond: self.beyond && other.beyond }
    }

    /// The union of both sets.
    pub const fn union(self, other: Bitmap) -> Bitmap {
        Bitmap { bits: self.bits | other.bits, beyond: self.beyond || other.beyond }
    }

    /// The numbers in this set that are not in the other.
    pub const fn difference(self, other: Bitmap) -> Bitmap {
        Bitmap { bits: self.bits & !other.bits, beyond: self.beyond && !other.beyond }
    }

    /// The smallest number in the set, or `None` when there is none.
    pub const fn first(&self) -> Option<u32> {
        match (self.bits, self.beyond) {
            (0, false) => None,
            (0, true) => Some(Bitmap::BEYOND),
            (bits, _) => Some(bits.trailing_zeros()),
        }
    }

    /// The numbers in the set, smallest first.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = u32> {
        // In halves: steps over 128 bits take several times the instructions.
        let (mut left, mut base) = (self.bits as u64, 0);
        let (mut later, mut beyond) = ((self.bits >> u64::BITS) as u64, self.beyond);
        std::iter::from_fn(move || {
            if left == 0 {
                (left, base) = (mem::take(&mut later), u64::BITS);
                if left == 0 {
                    return mem::take(&mut beyond).then_some(Bitmap::BEYOND);
                }
            }
            let number = base + left.trailing_zeros();
            // Without the lowest bit.
            left &= left - 1;
            Some(number)
        })
    }

    /// One of the first four words of the wire form.
    pub const fn word(&self, index: u32) -> u32 {
        (self.bits >> (u32::BITS * index)) as u32
    }

    /// The number of words on the wire, without trailing zeros.
    const fn words(&self) -> usize {
        if self.beyond { KEPT_WORDS + 1 } else { (u128::BITS - self.bits.leading_zeros()).div_ceil(u32::BITS) as usize }
    }
}

impl fmt::Debug for Bitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Encode for Bitmap {
    #[inline]
    fn encode(&self, to: &mut Encoder<'_>) {
        let words = self.words();
        // All words at once, and as many as count.
        let all = [words as u32, self.word(0), self.word(1), self.word(2), self.word(3)].map(u32::to_be_bytes);
        to.buffer().space(4 + BYTES_KEPT).copy_from_slice(all.as_flattened());
        to.buffer().advance(4 + words.min(KEPT_WORDS) * 4);
        if self.beyond {
            to.u32(1);
        }
    }
}

impl Decode<'_> for Bitmap {
    #[inline]
    fn decode(from: &mut Decoder<'_>) -> xdr::Result<Self> {
        let (mut kept, mut beyond) = ([0; KEPT_WORDS], false);
        for index in 0..from.count(MAX_BITMAP_WORDS)? {
            let word = from.u32()?;
            match kept.get_mut(index) {
                Some(kept) => *kept = word,
                None => beyond |= word != 0,
            }
        }
        let bits = kept.into_iter().rev().fold(0, |bits, word| bits << u32::BITS | u128::from(word));
        Ok(Bitmap { bits, beyond })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(words: &[u32]) -> xdr::Result<Bitmap> {
        let mut bytes = (words.len() as u32).to_be_bytes().to_vec();
        words.iter().for_each(|word| bytes.extend(word.to_be_bytes()));
        Bitmap::decode(&mut Decoder::new(&bytes))
    }

    fn encode(set: Bitmap) -> Vec<u8> {
        let mut buffer = buffer::Buffer::new();
        set.encode(&mut Encoder::new(&mut buffer));
        buffer.as_slice().to_vec()
    }

    #[test]
    fn numbers_come_out_in_order() {
        let numbers = [127, 0, 5000, 33, 64, 4, 63];
        assert_eq!(Bitmap::of(&numbers).iter().collect::<Vec<_>>(), [0, 4, 33, 63, 64, 127, Bitmap::BEYOND]);
        assert_eq!(Bitmap::of(&[70]).iter().collect::<Vec<_>>(), [70]);
    }

    #[test]
    fn trailing_words_without_a_bit_are_not_sent() {
        assert_eq!(encode(Bitmap::EMPTY), [0; 4]);
        assert_eq!(encode(Bitmap::of(&[32])), b"\0\0\0\x02\0\0\0\0\0\0\0\x01");
        assert_eq!(decode(&[2, 0, 0, 0, 0, 0]), Ok(Bitmap::of(&[1])));
    }

    #[test]
    fn all_unknown_numbers_are_one() {
        let mut words = [0; 32];
        words[31] = 1 << 8;
        let set = decode(&words).unwrap();
        assert_eq!(set, Bitmap::of(&[5000]));
        assert_eq!(set.iter().collect::<Vec<_>>(), [Bitmap::BEYOND]);
        assert_eq!(encode(set), b"\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01");
        assert!(set.difference(Bitmap::of(&[128])).is_empty());
    }

    #[test]
    fn more_words_than_the_limit_are_refused() {
        assert!(matches!(decode(&[0; MAX_BITMAP_WORDS + 1]), Err(xdr::Error::TooLong { .. })));
    }

    #[test]
    fn sets_meet_and_part() {
        let (a, b) = (Bitmap::of(&[1, 2, 200]), Bitmap::of(&[2, 3]));
        assert_eq!(a.intersection(b), Bitmap::of(&[2]));
        assert_eq!(a.union(b), Bitmap::of(&[1, 2, 3, 128]));
        assert_eq!(a.difference(b), Bitmap::of(&[1, 128]));
        let mut c = a;
        c.remove(128);
        c.remove(1);
        assert_eq!(c, Bitmap::of(&[2]));
    }
}
