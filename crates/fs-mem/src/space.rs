//! Accounting of a limited supply.

use std::sync::atomic::{AtomicU64, Ordering};

use vfs::{Error, Result};

/// A supply with a limit, which concurrent callers never exceed.
#[derive(Debug)]
pub(crate) struct Supply {
    limit: u64,
    used: AtomicU64,
}

impl Supply {
    pub(crate) fn new(limit: u64) -> Supply {
        Supply { limit, used: AtomicU64::new(0) }
    }

    /// A supply with `used` already in use; raises a lower limit to it.
    pub(crate) fn with_used(limit: u64, used: u64) -> Supply {
        Supply { limit: limit.max(used), used: AtomicU64::new(used) }
    }

    /// Takes all of `amount`, or nothing if there is no space.
    pub(crate) fn take(&self, amount: u64) -> Result<()> {
        let fits = |used: u64| used.checked_add(amount).filter(|&after| after <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map(drop).map_err(|_| Error::NoSpace)
    }

    /// Gives back what was taken.
    pub(crate) fn give_back(&self, amount: u64) {
        let before = self.used.fetch_sub(amount, Ordering::Relaxed);
        debug_assert!(before >= amount, "more was given back than was taken");
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn free(&self) -> u64 {
        self.limit.saturating_sub(self.used.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supply_gives_all_or_nothing() {
        let supply = Supply::new(10);
        assert!(supply.take(7).is_ok());
        assert!(matches!(supply.take(4), Err(Error::NoSpace)));
        assert!(matches!(supply.take(u64::MAX), Err(Error::NoSpace)));
        assert_eq!(supply.free(), 3);
        supply.give_back(7);
        assert!(supply.take(10).is_ok());
    }
}
