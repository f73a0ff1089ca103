//! The bytes that are sent: each follows from its place, so that whoever receives them can tell wrong ones.

/// Fills `bytes` with those from `offset` on.
pub(crate) fn fill(offset: u64, bytes: &mut [u8]) {
    bytes.iter_mut().zip(offset..).for_each(|(byte, place)| *byte = at(place));
}

/// How many of `bytes` are not those from `offset` on.
pub(crate) fn differences(offset: u64, bytes: &[u8]) -> u64 {
    bytes.iter().zip(offset..).filter(|(byte, place)| **byte != at(*place)).count() as u64
}

/// A pattern that is another one at each offset in the first 16 MiB.
fn at(place: u64) -> u8 {
    let byte = |shift: u32| (place >> shift) as u8;
    byte(0) ^ byte(8).wrapping_mul(31) ^ byte(16).wrapping_mul(151)
}
