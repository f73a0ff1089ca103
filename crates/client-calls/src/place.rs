//! Places pieces of a file in the buffer that they were read for.

/// A piece of a file and its place in a buffer, in bytes from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes in other memory.
    Data {
        /// The target place.
        at: usize,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Bytes that were received into the buffer itself, packed at its start.
    Packed {
        /// The target place: never in front of `from`.
        at: usize,
        /// Where they are.
        from: usize,
        /// How many bytes.
        length: usize,
    },
    /// A hole.
    Hole {
        /// The target place.
        at: usize,
        /// Its length in bytes.
        length: usize,
    },
}

/// Moves pieces to their places: each byte is moved at most once, and holes become zeros. Bytes that do not
/// fit are left out.
///
/// The last piece goes first. Packed bytes never move to the front, so a placed piece overwrites only bytes that were
/// moved before or are moved by the same step.
///
/// ```
/// use client::{Piece, place};
///
/// let mut buffer = *b"abcd....";
/// let pieces = [
///     Piece::Packed { at: 0, from: 0, length: 1 },
///     Piece::Hole { at: 1, length: 2 },
///     Piece::Packed { at: 3, from: 1, length: 3 },
///     Piece::Data { at: 6, bytes: b"xyz" },
/// ];
/// place(pieces, &mut buffer);
/// assert_eq!(&buffer, b"a\0\0bcdxy");
/// ```
pub fn place<'a, P>(pieces: P, buffer: &mut [u8])
where
    P: IntoIterator<Item = Piece<'a>>,
    P::IntoIter: DoubleEndedIterator,
{
    for piece in pieces.into_iter().rev() {
        match piece {
            Piece::Data { at, bytes } => {
                let room = room(buffer, at, bytes.len());
                let length = room.len();
                buffer[room].copy_from_slice(&bytes[..length]);
            }
            Piece::Packed { at, from, length } => {
                let length = room(buffer, at, length).len().min(room(buffer, from, length).len());
                if length > 0 {
                    buffer.copy_within(from..from + length, at);
                }
            }
            Piece::Hole { at, length } => {
                let room = room(buffer, at, length);
                buffer[room].fill(0);
            }
        }
    }
}

/// The part of `length` bytes from `at` on that is inside the buffer.
fn room(buffer: &[u8], at: usize, length: usize) -> std::ops::Range<usize> {
    let start = at.min(buffer.len());
    start..at.saturating_add(length).clamp(start, buffer.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random number generator with a seed (SplitMix64).
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) % limit as u64) as usize
        }
    }

    /// Random adjacent pieces, as the bytes that they stand for; `None` is a hole.
    fn content(dice: &mut Dice) -> Vec<(Option<Vec<u8>>, usize)> {
        let piece = |dice: &mut Dice| {
            let length = dice.below(40);
            let is_data = dice.below(2) == 0;
            (is_data.then(|| (0..length).map(|_| dice.below(255) as u8 + 1).collect()), length)
        };
        (0..dice.below(12)).map(|_| piece(dice)).collect()
    }

    /// The expected buffer, built from the front.
    fn model(content: &[(Option<Vec<u8>>, usize)], length: usize) -> Vec<u8> {
        let mut all = Vec::new();
        for (bytes, length) in content {
            all.extend(bytes.clone().unwrap_or_else(|| vec![0; *length]));
        }
        all.truncate(length);
        all
    }

    #[test]
    fn pieces_end_where_a_walk_from_the_front_puts_them() {
        for seed in 0..5000 {
            let mut dice = Dice(seed);
            let content = content(&mut dice);
            let whole: usize = content.iter().map(|(_, length)| length).sum();
            let room = if dice.below(2) == 0 { whole } else { dice.below(whole + 2) };
            let wanted = model(&content, room);
            let mut buffer = vec![0xff; room];
            let mut at = 0;
            let pieces: Vec<_> = content
                .iter()
                .map(|(bytes, length)| {
                    let piece = match bytes {
                        Some(bytes) => Piece::Data { at, bytes },
                        None => Piece::Hole { at, length: *length },
                    };
                    at += length;
                    piece
                })
                .collect();
            place(pieces, &mut buffer);
            assert_eq!(buffer[..wanted.len()], wanted, "seed {seed}");
            assert!(buffer[wanted.len()..].iter().all(|byte| *byte == 0xff), "seed {seed}: nothing behind");
        }
    }

    #[test]
    fn bytes_that_lie_in_the_buffer_are_never_covered_before_they_are_moved() {
        for seed in 0..5000 {
            let mut dice = Dice(seed);
            let content = content(&mut dice);
            let wanted = model(&content, usize::MAX);
            let packed: Vec<u8> = content.iter().filter_map(|(bytes, _)| bytes.clone()).flatten().collect();
            let mut buffer = vec![0xff; wanted.len()];
            buffer[..packed.len()].copy_from_slice(&packed);
            let (mut at, mut from) = (0, 0);
            let pieces: Vec<_> = content
                .iter()
                .map(|(bytes, length)| {
                    let piece = match bytes {
                        Some(_) => Piece::Packed { at, from, length: *length },
                        None => Piece::Hole { at, length: *length },
                    };
                    at += length;
                    from += if bytes.is_some() { *length } else { 0 };
                    piece
                })
                .collect();
            place(pieces, &mut buffer);
            assert_eq!(buffer, wanted, "seed {seed}");
        }
    }

    #[test]
    fn what_lies_outside_of_the_buffer_is_cut_off() {
        let mut buffer = *b"abc";
        let pieces = [
            Piece::Data { at: 2, bytes: b"xy" },
            Piece::Hole { at: usize::MAX, length: usize::MAX },
            Piece::Packed { at: 1, from: 9, length: 5 },
            Piece::Packed { at: 9, from: 0, length: 5 },
            Piece::Data { at: 9, bytes: b"z" },
        ];
        place(pieces, &mut buffer);
        assert_eq!(&buffer, b"abx");
        place([Piece::Hole { at: 1, length: usize::MAX }], &mut buffer);
        assert_eq!(&buffer, b"a\0\0");
    }
}
