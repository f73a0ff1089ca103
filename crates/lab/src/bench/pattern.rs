//! Bytes that follow from their place in a file: whoever knows the seed knows what must be there.

use bytes::Bytes;
use fastrand::Rng;

/// The contents of a file under one seed. Two seeds agree in no word that anybody will meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pattern {
    seed: u64,
    /// How many words of each chunk are random; the others are zero.
    random_words: u64,
}

/// The bytes that one number of the pattern gives.
const WORD_BYTES: usize = 8;
/// The words of a chunk, each of which can be compressed alike: 512 bytes, fio's `buffer_compress_chunk`.
const CHUNK_WORDS: u64 = 64;

impl Pattern {
    pub(super) fn new(seed: u64) -> Pattern {
        Pattern { seed, random_words: CHUNK_WORDS }
    }

    /// The same with so many percent of zeros, a whole number of words.
    pub(super) fn compressing(self, percent: u8) -> Pattern {
        let random_words = (CHUNK_WORDS * (100 - u64::from(percent.min(100)))).div_ceil(100);
        Pattern { random_words, ..self }
    }

    /// A pattern of its own for each number, unlike those that files are filled with.
    pub(super) fn numbered(self, number: u64) -> Pattern {
        Pattern { seed: mix(self.seed).wrapping_add(number), ..self }
    }

    /// What writes leave behind in a file that had this pattern before.
    pub(super) fn next(self) -> Pattern {
        Pattern { seed: self.seed.wrapping_add(1), ..self }
    }

    /// The bytes of the file from `offset` on, which is a multiple of 8, as is `length`.
    pub(super) fn block(self, offset: u64, length: u32) -> Bytes {
        let words = self.words(offset).take(length as usize / WORD_BYTES);
        words.flat_map(u64::to_le_bytes).collect::<Vec<u8>>().into()
    }

    /// Whether `bytes` are those of the file from `offset` on.
    pub(super) fn is_at(self, offset: u64, bytes: &[u8]) -> bool {
        bytes
            .chunks(WORD_BYTES)
            .zip(self.words(offset))
            .all(|(chunk, word)| *chunk == word.to_le_bytes()[..chunk.len()])
    }

    /// Whether each word of `bytes` is that of this pattern or of the next one: a block that is being written over.
    pub(super) fn is_at_or_next(self, offset: u64, bytes: &[u8]) -> bool {
        let either = self.words(offset).zip(self.next().words(offset));
        bytes.chunks(WORD_BYTES).zip(either).all(|(chunk, (old, new))| {
            *chunk == old.to_le_bytes()[..chunk.len()] || *chunk == new.to_le_bytes()[..chunk.len()]
        })
    }

    fn words(self, offset: u64) -> impl Iterator<Item = u64> {
        let first = offset / WORD_BYTES as u64;
        let start = mix(self.seed);
        let is_random = move |number: u64| number % CHUNK_WORDS < self.random_words;
        (first..).map(move |number| if is_random(number) { mix(start ^ number) } else { 0 })
    }
}

/// A random number that follows from another one.
fn mix(number: u64) -> u64 {
    Rng::with_seed(number).u64(..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_is_a_part_of_the_same_file_wherever_it_begins() {
        let pattern = Pattern::new(7);
        let whole = pattern.block(0, 64);
        assert_eq!(pattern.block(16, 32), whole[16..48]);
        assert!(pattern.is_at(16, &whole[16..43]));
        assert!(!pattern.is_at(8, &whole[16..48]) && !pattern.next().is_at(16, &whole[16..48]));
    }

    #[test]
    fn zeros_are_the_share_that_can_be_compressed() {
        for percent in [0_u8, 25, 50, 90, 100] {
            let block = Pattern::new(7).compressing(percent).block(512, 64 << 10);
            let zeros = block.chunks(WORD_BYTES).filter(|word| word.iter().all(|byte| *byte == 0)).count();
            let found = zeros as f64 * 100.0 / 8192.0;
            assert!(found <= f64::from(percent) && found > f64::from(percent) - 100.0 / 64.0, "{percent}: {found}");
        }
    }

    #[test]
    fn half_written_block_has_both_patterns_and_no_third() {
        let pattern = Pattern::new(7);
        let mut block = pattern.block(800, 64).to_vec();
        block[..24].copy_from_slice(&pattern.next().block(800, 24));
        assert!(pattern.is_at_or_next(800, &block) && !pattern.is_at(800, &block));
        block[63] ^= 1;
        assert!(!pattern.is_at_or_next(800, &block));
    }
}
