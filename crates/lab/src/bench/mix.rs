//! A mix of operations like those of LADDIS and SPECsfs.

use fastrand::Rng;

use super::Operation;

/// What of a hundred operations are these: the mix of SPECsfs97 for NFSv3, in which READLINK is a LOOKUP here, READDIR
/// a READDIRPLUS, and SETATTR and FSSTAT are GETATTRs. A CREATE has its REMOVE behind it. COMMIT comes at the end.
const SHARES: [(Operation, u32); 6] = [
    (Operation::Lookup, 36),
    (Operation::Transfer, 29),
    (Operation::GetAttr, 14),
    (Operation::List, 12),
    (Operation::Access, 8),
    (Operation::CreateRemove, 1),
];
const READ_PERCENT_OF_TRANSFERS: u8 = 67;

/// The next operation, and how many of a hundred of its kind read.
pub(super) fn draw(random: &mut Rng) -> (Operation, u8) {
    let all: u32 = SHARES.iter().map(|(_, share)| share).sum();
    let mut place = random.u32(..all);
    let is_drawn = |(_, share): &&(Operation, u32)| {
        let is_here = place < *share;
        place = place.saturating_sub(*share);
        is_here
    };
    let operation = SHARES.iter().find(is_drawn).map_or(Operation::GetAttr, |(operation, _)| *operation);
    (operation, if operation == Operation::Transfer { READ_PERCENT_OF_TRANSFERS } else { 100 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_its_share() {
        let mut random = Rng::with_seed(3);
        let drawn: Vec<Operation> = (0..100_000).map(|_| draw(&mut random).0).collect();
        assert_eq!(SHARES.iter().map(|(_, share)| share).sum::<u32>(), 100);
        for (operation, share) in SHARES {
            let found = drawn.iter().filter(|drawn| **drawn == operation).count() as f64 / 1e3;
            assert!((found - f64::from(share)).abs() < 0.6, "{operation:?}: {found} of {share}");
        }
    }
}
