//! Numbers in a random order, without a list of them.

use fastrand::Rng;

/// How often the halves of a number are mixed: four rounds leave no order that a file system or a disk could use.
const ROUNDS: u64 = 4;

/// The number in this place, below `count`, of a random order of all numbers below `count` that follows from `seed`.
///
/// A Feistel network permutes the numbers of an even number of bits; a number that is too large is permuted again until
/// it is not, which takes fewer than four turns on average.
pub(crate) fn permuted(place: u64, count: u64, seed: u64) -> u64 {
    let half_bits = (u64::BITS - (count - 1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1 << half_bits) - 1;
    let mut number = place;
    loop {
        let (mut left, mut right) = (number >> half_bits, number & mask);
        for round in 0..ROUNDS {
            let mut random = Rng::with_seed(seed.wrapping_mul(ROUNDS).wrapping_add(round));
            random = Rng::with_seed(random.u64(..) ^ right);
            (left, right) = (right, (left ^ random.u64(..)) & mask);
        }
        number = left << half_bits | right;
        if number < count {
            return number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(count: u64, seed: u64) -> Vec<u64> {
        (0..count).map(|place| permuted(place, count, seed)).collect()
    }

    #[test]
    fn every_number_comes_once() {
        for count in [1, 2, 3, 7, 64, 1000, 4097] {
            let mut numbers = all(count, 5);
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count), "{count}");
        }
        assert!(permuted(1 << 62, u64::MAX, 1) < u64::MAX);
    }

    #[test]
    fn order_follows_from_the_seed_and_has_no_runs() {
        assert_eq!(all(1000, 1), all(1000, 1));
        assert_ne!(all(1000, 1), all(1000, 2));
        let neighbours = all(1000, 1).windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(neighbours < 10, "{neighbours}");
        let from_the_first_half = all(1000, 1)[..500].iter().filter(|number| **number < 500).count();
        assert!((200..300).contains(&from_the_first_half), "{from_the_first_half}");
    }
}
