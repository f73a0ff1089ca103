//! The access and deny modes of opens (RFC 8881 §9.7).

/// The access mode of an open: reading, writing or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ShareAccess(u8);

/// The deny mode of an open: the accesses denied to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ShareDeny(u8);

const READ: u8 = 1;
const WRITE: u8 = 2;
const BOTH: u8 = READ | WRITE;

impl ShareAccess {
    /// Reading.
    pub const READ: ShareAccess = ShareAccess(READ);
    /// Writing.
    pub const WRITE: ShareAccess = ShareAccess(WRITE);
    /// Reading and writing.
    pub const BOTH: ShareAccess = ShareAccess(BOTH);

    /// The access of these wire bits, or `None` when there are none or invalid ones.
    pub fn from_bits(bits: u32) -> Option<ShareAccess> {
        matches!(bits, 1..=3).then_some(ShareAccess(bits as u8))
    }

    /// The wire bits.
    pub fn bits(self) -> u32 {
        u32::from(self.0)
    }

    /// Whether reading is among them.
    pub fn reads(self) -> bool {
        self.0 & READ != 0
    }

    /// Whether writing is among them.
    pub fn writes(self) -> bool {
        self.0 & WRITE != 0
    }

    /// Whether any of these accesses is denied by `deny`.
    pub fn is_denied_by(self, deny: ShareDeny) -> bool {
        self.0 & deny.0 != 0
    }

    pub(crate) fn union(self, other: ShareAccess) -> ShareAccess {
        ShareAccess(self.0 | other.0)
    }
}

impl ShareDeny {
    /// Nothing is denied.
    pub const NONE: ShareDeny = ShareDeny(0);
    /// Others may not read.
    pub const READ: ShareDeny = ShareDeny(READ);
    /// Others may not write.
    pub const WRITE: ShareDeny = ShareDeny(WRITE);
    /// Others may neither read nor write.
    pub const BOTH: ShareDeny = ShareDeny(BOTH);

    /// The deny mode of these wire bits, or `None` when there are invalid ones.
    pub fn from_bits(bits: u32) -> Option<ShareDeny> {
        matches!(bits, 0..=3).then_some(ShareDeny(bits as u8))
    }

    /// The wire bits.
    pub fn bits(self) -> u32 {
        u32::from(self.0)
    }

    pub(crate) fn union(self, other: ShareDeny) -> ShareDeny {
        ShareDeny(self.0 | other.0)
    }
}

/// The access and the deny mode of an open, or of a share of the lock protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share {
    /// The access mode.
    pub access: ShareAccess,
    /// The deny mode.
    pub deny: ShareDeny,
}

impl Share {
    pub(crate) fn union(self, other: Share) -> Share {
        Share { access: self.access.union(other.access), deny: self.deny.union(other.deny) }
    }

    /// Whether one of the two denies the other's access.
    pub(crate) fn conflicts_with(self, other: Share) -> bool {
        self.access.is_denied_by(other.deny) || other.access.is_denied_by(self.deny)
    }
}

/// The pairs of access and deny modes of an owner's OPENs: OPEN_DOWNGRADE may only return to a union of these (RFC 7530
/// §16.19.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SharesSeen(u16);

impl SharesSeen {
    pub(crate) fn add(&mut self, access: ShareAccess, deny: ShareDeny) {
        self.0 |= 1 << (access.0 << 2 | deny.0);
    }

    /// Whether `access` and `deny` are a union of earlier pairs.
    pub(crate) fn reaches(self, access: ShareAccess, deny: ShareDeny) -> bool {
        self.within(access, deny).fold((0, 0), |(a, d), (access, deny)| (a | access, d | deny)) == (access.0, deny.0)
    }

    /// Drops the pairs that a downgrade to `access` and `deny` closes.
    pub(crate) fn keep_within(&mut self, access: ShareAccess, deny: ShareDeny) {
        self.0 = self.within(access, deny).fold(0, |kept, (a, d)| kept | 1 << (a << 2 | d));
    }

    fn within(self, access: ShareAccess, deny: ShareDeny) -> impl Iterator<Item = (u8, u8)> {
        (0..16u8)
            .filter(move |bit| self.0 & 1 << bit != 0)
            .map(|bit| (bit >> 2, bit & 3))
            .filter(move |(a, d)| a & !access.0 == 0 && d & !deny.0 == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downgrade_reaches_only_unions_of_what_was_opened() {
        let mut seen = SharesSeen::default();
        seen.add(ShareAccess::BOTH, ShareDeny::NONE);
        assert!(!seen.reaches(ShareAccess::READ, ShareDeny::NONE));
        seen.add(ShareAccess::READ, ShareDeny::NONE);
        assert!(seen.reaches(ShareAccess::READ, ShareDeny::NONE));
        seen.keep_within(ShareAccess::READ, ShareDeny::NONE);
        assert!(!seen.reaches(ShareAccess::BOTH, ShareDeny::NONE));
    }

    #[test]
    fn access_without_bits_is_none() {
        assert_eq!(ShareAccess::from_bits(0), None);
        assert_eq!(ShareDeny::from_bits(0), Some(ShareDeny::NONE));
        assert_eq!(ShareAccess::from_bits(4), None);
    }
}
