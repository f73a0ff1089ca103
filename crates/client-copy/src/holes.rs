//! Finds blocks of zeros that become holes where the server tells no holes.

use std::ops::Range;

/// Holes are blocks of this many zeros, as in most file systems.
pub(super) const HOLE_BYTES: usize = 4096;
const HOLE: [u8; HOLE_BYTES] = [0; HOLE_BYTES];

/// The ranges of `bytes` without blocks of zeros.
pub(super) fn around(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let is_hole = |block: &&[u8]| **block == HOLE[..block.len()];
    let mut start = 0;
    std::iter::from_fn(move || {
        let skipped = bytes[start..].chunks(HOLE_BYTES).take_while(is_hole).count() * HOLE_BYTES;
        let first = (start + skipped).min(bytes.len());
        let data = bytes[first..].chunks(HOLE_BYTES).take_while(|block| !is_hole(block)).count() * HOLE_BYTES;
        start = (first + data).min(bytes.len());
        (first < start).then_some(first..start)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_zeros_are_left_out_and_all_else_is_there() {
        let mut bytes = vec![0; 5 * HOLE_BYTES + 100];
        bytes[HOLE_BYTES + 7] = 1;
        bytes[2 * HOLE_BYTES] = 1;
        bytes[5 * HOLE_BYTES + 99] = 2;
        let ranges: Vec<_> = around(&bytes).collect();
        assert_eq!(ranges, [HOLE_BYTES..3 * HOLE_BYTES, 5 * HOLE_BYTES..5 * HOLE_BYTES + 100]);
        assert_eq!(around(&[0; 100]).count(), 0);
        assert_eq!(around(b"").count(), 0);
        assert_eq!(around(&[1; 5000]).next(), Some(0..5000));
    }
}
