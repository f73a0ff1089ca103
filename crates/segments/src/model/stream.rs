//! The bytes that the model sends: each follows from its place, so that whoever receives them can tell wrong ones.

/// Fills `bytes` with those from `offset` on.
pub(super) fn fill(offset: u64, bytes: &mut [u8]) {
    bytes.iter_mut().zip(offset..).for_each(|(byte, place)| *byte = at(place));
}

/// How many of `bytes` are not those from `offset` on.
pub(super) fn differences(offset: u64, bytes: &[u8]) -> u64 {
    bytes.iter().zip(offset..).filter(|(byte, place)| **byte != at(*place)).count() as u64
}

/// A pattern that does not repeat at the sizes of segments or of powers of two.
fn at(place: u64) -> u8 {
    (place ^ (place / 251) ^ (place / 65_521)) as u8
}
