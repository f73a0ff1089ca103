//! The bytes of a stream: each follows from its offset, so that a receiver can detect wrong ones.

/// Fills `bytes` with those from `offset` on.
pub(crate) fn fill(offset: u64, bytes: &mut [u8]) {
    bytes.iter_mut().zip(offset..).for_each(|(byte, place)| *byte = at(place));
}

/// The number of `bytes` that differ from those at `offset`.
pub(crate) fn differences(offset: u64, bytes: &[u8]) -> u64 {
    bytes.iter().zip(offset..).filter(|(byte, place)| **byte != at(*place)).count() as u64
}

/// A pattern that differs at each offset in the first 16 MiB.
fn at(place: u64) -> u8 {
    let byte = |shift: u32| (place >> shift) as u8;
    byte(0) ^ byte(8).wrapping_mul(31) ^ byte(16).wrapping_mul(151)
}
