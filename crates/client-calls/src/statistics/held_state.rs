//! The state that a mount of NFSv4 holds now, under the names of FreeBSD's nfsstat(1).

/// Counts of held state. Local state is unknown to the server: that of files opened under a delegation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeldState {
    /// Open-owners known to the server (`OpenOwner`); here each open has an owner of its own.
    pub open_owners: u64,
    /// Opens known to the server (`Opens`).
    pub opens: u64,
    /// Lock owners known to the server (`LockOwner`).
    pub lock_owners: u64,
    /// Ranges locked at the server (`Locks`).
    pub locks: u64,
    /// Delegations (`Delegs`).
    pub delegations: u64,
    /// Owners of local opens (`LocalOwn`).
    pub local_open_owners: u64,
    /// Local opens (`LocalOpen`).
    pub local_opens: u64,
    /// Owners of local locks (`LocalLown`).
    pub local_lock_owners: u64,
    /// Ranges locked locally (`LocalLock`).
    pub local_locks: u64,
}

impl HeldState {
    /// Adds an open with so many locked ranges.
    #[doc(hidden)]
    pub fn add_open(&mut self, is_local: bool, locks: u64) {
        let owners_of_locks = u64::from(locks > 0);
        if is_local {
            self.local_open_owners += 1;
            self.local_opens += 1;
            self.local_lock_owners += owners_of_locks;
            self.local_locks += locks;
        } else {
            self.open_owners += 1;
            self.opens += 1;
            self.lock_owners += owners_of_locks;
            self.locks += locks;
        }
    }

    /// The sums of both.
    pub(super) fn plus(&self, other: &HeldState) -> HeldState {
        HeldState {
            open_owners: self.open_owners.saturating_add(other.open_owners),
            opens: self.opens.saturating_add(other.opens),
            lock_owners: self.lock_owners.saturating_add(other.lock_owners),
            locks: self.locks.saturating_add(other.locks),
            delegations: self.delegations.saturating_add(other.delegations),
            local_open_owners: self.local_open_owners.saturating_add(other.local_open_owners),
            local_opens: self.local_opens.saturating_add(other.local_opens),
            local_lock_owners: self.local_lock_owners.saturating_add(other.local_lock_owners),
            local_locks: self.local_locks.saturating_add(other.local_locks),
        }
    }
}
