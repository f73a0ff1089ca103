//! Byte ranges of locks.

/// The range is empty, or ends beyond the last 64-bit offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the range is empty or ends beyond the last offset")]
pub struct InvalidRange;

/// A non-empty byte range. Both ends are inclusive, so that a range up to the largest offset can be represented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteRange {
    first: u64,
    last: u64,
}

impl ByteRange {
    /// All bytes that a file can have.
    pub const WHOLE: ByteRange = ByteRange { first: 0, last: u64::MAX };

    /// The range of NFSv4's offset and length; a length of `u64::MAX` means to the end of the file.
    ///
    /// # Errors
    /// [`InvalidRange`] for a length of 0 or a range beyond the last 64-bit offset (RFC 8881 §18.10.3).
    pub fn nfs4(offset: u64, length: u64) -> Result<ByteRange, InvalidRange> {
        if length == u64::MAX {
            return Ok(ByteRange { first: offset, last: u64::MAX });
        }
        let last = length.checked_sub(1).and_then(|n| offset.checked_add(n)).ok_or(InvalidRange)?;
        // A range that ends at u64::MAX is an error, even though its last byte would fit.
        last.checked_add(1).ok_or(InvalidRange)?;
        Ok(ByteRange { first: offset, last })
    }

    /// The range of the lock protocol's offset and length; a length of 0 means to the end of the file.
    ///
    /// # Errors
    /// [`InvalidRange`] for a range beyond the last offset.
    pub fn nlm(offset: u64, length: u64) -> Result<ByteRange, InvalidRange> {
        match length {
            0 | u64::MAX => Ok(ByteRange { first: offset, last: u64::MAX }),
            _ => Self::nfs4(offset, length),
        }
    }

    /// The range from `first` to `last`, both inclusive; `None` if it is empty.
    pub fn inclusive(first: u64, last: u64) -> Option<ByteRange> {
        (first <= last).then_some(ByteRange { first, last })
    }

    /// The offset of the first byte.
    pub fn first(self) -> u64 {
        self.first
    }

    /// The offset of the last byte.
    pub fn last(self) -> u64 {
        self.last
    }

    /// The length in bytes; `u64::MAX` for a range to the end of the file, as in NFSv4.
    pub fn length(self) -> u64 {
        if self.last == u64::MAX { u64::MAX } else { self.last - self.first + 1 }
    }

    /// Whether the two ranges share a byte.
    pub fn overlaps(self, other: ByteRange) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Whether the two ranges overlap or are adjacent.
    pub(crate) fn touches(self, other: ByteRange) -> bool {
        self.first <= other.last.saturating_add(1) && other.first <= self.last.saturating_add(1)
    }

    /// The smallest range that contains both.
    pub(crate) fn span(self, other: ByteRange) -> ByteRange {
        ByteRange { first: self.first.min(other.first), last: self.last.max(other.last) }
    }

    /// The intersection of two ranges that overlap.
    pub(crate) fn within(self, other: ByteRange) -> ByteRange {
        ByteRange { first: self.first.max(other.first), last: self.last.min(other.last) }
    }

    /// The parts of this range before and after `hole`.
    pub(crate) fn without(self, hole: ByteRange) -> [Option<ByteRange>; 2] {
        if !self.overlaps(hole) {
            return [Some(self), None];
        }
        let before = hole.first.checked_sub(1).and_then(|last| ByteRange::inclusive(self.first, last));
        let after = hole.last.checked_add(1).and_then(|first| ByteRange::inclusive(first, self.last));
        [before, after]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_of_all_ones_reaches_the_end_of_the_file() {
        let range = ByteRange::nfs4(100, u64::MAX).unwrap();
        assert_eq!((range.first(), range.last(), range.length()), (100, u64::MAX, u64::MAX));
    }

    #[test]
    fn empty_or_overflowing_range_is_invalid() {
        assert_eq!(ByteRange::nfs4(25, 0), Err(InvalidRange));
        assert_eq!(ByteRange::nfs4(100, u64::MAX - 1), Err(InvalidRange));
    }

    #[test]
    fn nlm_length_of_zero_reaches_the_end_of_the_file() {
        assert_eq!(ByteRange::nlm(5, 0).unwrap().last(), u64::MAX);
    }

    #[test]
    fn hole_in_the_middle_leaves_two_pieces() {
        let range = ByteRange::nfs4(0, 100).unwrap();
        let pieces = range.without(ByteRange::nfs4(40, 20).unwrap());
        assert_eq!(pieces, [ByteRange::inclusive(0, 39), ByteRange::inclusive(60, 99)]);
        assert_eq!(range.without(ByteRange::WHOLE), [None, None]);
    }
}
