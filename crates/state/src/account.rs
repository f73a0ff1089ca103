//! Limits the share of common resources that one origin may hold.
//!
//! An origin that could take everything would lock all others out. The rule: **an origin may hold as much as remains
//! free.** Alone, it gets half of everything. If `n` origins take all they can, each ends with one part in `n + 1`, and
//! one part stays free for the next one. When little is free, the largest holder is refused first. So
//! - no origin is limited to a fixed part while there is room,
//! - nothing must be taken back from early origins,
//! - a call compares two numbers, however many origins, clients and files there are.
//!
//! Two exceptions:
//! - The first [`GUARANTEED_PER_ORIGIN`] are refused only when nothing is left.
//! - In the grace period, when only reclaims are granted, an origin may hold half of everything, whatever is free. It
//!   cannot have held more before, and the order of reclaims must not decide who loses a lock.
//!
//! The limits of a single file are not divided: anyone who may lock a file can exclude all others with one lock of the
//! whole file.
//!
//! A [`Charge`] is one held resource. It is stored in the object that uses it, and counts until it is dropped. Locked
//! ranges, which merge and split, are counted by [`Account::change`].

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

use crate::limits::GUARANTEED_PER_ORIGIN;
use crate::sync::lock;
use crate::{Limits, Origin, StateError};

/// The resources that are divided among origins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Open,
    Owner,
    LockState,
    Lock,
    Delegation,
    Lease,
    Wait,
    NlmHost,
    NlmShare,
    /// A file of the host that is open for its locks.
    LockedFile,
    /// A file that is held after its last name is removed.
    Hold,
}

const KINDS: usize = Kind::Hold as usize + 1;

type Usage = [AtomicUsize; KINDS];

/// The limits and current use of all resources.
#[derive(Debug)]
pub(crate) struct Pool {
    limits: [usize; KINDS],
    held: Usage,
    /// Whether only reclaims are granted.
    is_reclaiming: AtomicBool,
    accounts: Mutex<HashMap<Origin, Weak<Account>>>,
}

/// The resources that one origin holds.
#[derive(Debug)]
pub(crate) struct Account {
    pool: Arc<Pool>,
    pub origin: Origin,
    held: Usage,
}

/// One resource that an origin holds until this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    account: Arc<Account>,
    kind: Kind,
}

/// Whether one origin may take `more` of a resource: it holds `own`, all origins hold `all`, and the limit is `limit`.
pub fn may_take(more: usize, own: usize, all: usize, limit: usize) -> bool {
    let free = limit.saturating_sub(all);
    more <= free && own + more <= free.max(GUARANTEED_PER_ORIGIN)
}

impl Pool {
    pub(crate) fn new(limits: &Limits, is_reclaiming: bool) -> Arc<Pool> {
        use Kind::{Delegation, Hold, Lease, Lock, LockState, LockedFile, NlmHost, NlmShare, Open, Owner, Wait};
        let limit_of = |kind| match kind {
            Open => limits.opens,
            Owner => limits.owners,
            LockState => limits.lock_states,
            Lock => limits.locks,
            Delegation => limits.delegations,
            Lease => limits.leases,
            Wait => limits.waiters,
            NlmHost => limits.nlm_hosts,
            NlmShare => limits.nlm_shares,
            LockedFile => limits.locked_files,
            Hold => limits.holds,
        };
        Arc::new(Pool {
            limits: [Open, Owner, LockState, Lock, Delegation, Lease, Wait, NlmHost, NlmShare, LockedFile, Hold]
                .map(limit_of),
            held: Usage::default(),
            is_reclaiming: AtomicBool::new(is_reclaiming),
            accounts: Mutex::default(),
        })
    }

    /// The account of an origin; accounts without users are dropped.
    pub(crate) fn account(self: &Arc<Pool>, origin: Origin) -> Arc<Account> {
        let mut accounts = lock(&self.accounts);
        if let Some(account) = accounts.get(&origin).and_then(Weak::upgrade) {
            return account;
        }
        let account = Arc::new(Account { pool: Arc::clone(self), origin, held: Usage::default() });
        accounts.insert(origin, Arc::downgrade(&account));
        account
    }

    /// Ends the phase in which only reclaims are granted.
    pub(crate) fn end_reclaims(&self) {
        self.is_reclaiming.store(false, Relaxed);
    }

    /// The number that all origins hold.
    pub(crate) fn held(&self, kind: Kind) -> usize {
        self.held[kind as usize].load(Relaxed)
    }
}

impl Account {
    /// Whether the origin may take `more`.
    pub(crate) fn has_room(&self, kind: Kind, more: usize) -> bool {
        let (limit, all) = (self.pool.limits[kind as usize], self.pool.held(kind));
        let own = self.held[kind as usize].load(Relaxed);
        let reclaims = self.pool.is_reclaiming.load(Relaxed) && own + more <= limit / 2 && all + more <= limit;
        reclaims || may_take(more, own, all, limit)
    }

    /// Takes one.
    ///
    /// # Errors
    /// [`StateError::Resource`] when the origin has reached its limit.
    pub(crate) fn take(self: &Arc<Account>, kind: Kind) -> Result<Charge, StateError> {
        if !self.has_room(kind, 1) {
            return Err(StateError::Resource);
        }
        self.change(kind, 0, 1);
        Ok(Charge { account: Arc::clone(self), kind })
    }

    /// Records that the origin holds `to` of a resource instead of `from`.
    pub(crate) fn change(&self, kind: Kind, from: usize, to: usize) {
        for held in [&self.held, &self.pool.held] {
            let held = &held[kind as usize];
            if to >= from {
                held.fetch_add(to - from, Relaxed)
            } else {
                held.fetch_sub(from - to, Relaxed)
            };
        }
    }
}

impl Charge {
    /// The account of its holder.
    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.account
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.change(self.kind, 1, 0);
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let mut accounts = lock(&self.pool.accounts);
        // The origin may already have a new account.
        if accounts.get(&self.origin).is_some_and(|account| account.strong_count() == 0) {
            accounts.remove(&self.origin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(opens: usize, is_reclaiming: bool) -> Arc<Pool> {
        Pool::new(&Limits { opens, ..Limits::default() }, is_reclaiming)
    }

    fn account(pool: &Arc<Pool>, host: u8) -> Arc<Account> {
        pool.account(Origin::of([192, 0, 2, host].into()))
    }

    /// Everything that an origin gets.
    fn take_all(pool: &Arc<Pool>, host: u8) -> Vec<Charge> {
        let account = account(pool, host);
        std::iter::from_fn(|| account.take(Kind::Open).ok()).collect()
    }

    #[test]
    fn greedy_origins_come_to_equal_parts_and_leave_one_free() {
        let pool = pool(12_000, false);
        let first = take_all(&pool, 1);
        assert_eq!(first.len(), 6_000);
        let second = take_all(&pool, 2);
        assert_eq!((second.len(), account(&pool, 1).has_room(Kind::Open, 1)), (3_000, false));
        drop(first);
        let third = take_all(&pool, 3);
        let second: Vec<Charge> = second.into_iter().chain(take_all(&pool, 2)).collect();
        assert_eq!((third.len(), second.len()), (4_500, 3_750));
        assert_eq!(pool.held(Kind::Open), 8_250);
    }

    #[test]
    fn guaranteed_part_is_there_until_nothing_is_left() {
        let pool = pool(40, false);
        let held: Vec<usize> =
            (1..5).map(|host| take_all(&pool, host)).map(|all| std::mem::ManuallyDrop::new(all).len()).collect();
        assert_eq!(held, [20, 16, 4, 0]);
    }

    #[test]
    fn what_was_held_before_a_restart_is_reclaimed_in_any_order() {
        let pool = pool(12_000, true);
        let (second, first) = (take_all(&pool, 2).split_off(3_000), take_all(&pool, 1));
        assert_eq!((second.len(), first.len()), (3_000, 6_000));
        pool.end_reclaims();
        assert!(!account(&pool, 1).has_room(Kind::Open, 1));
    }

    #[test]
    fn account_is_forgotten_with_the_last_thing_that_its_origin_holds() {
        let pool = pool(100, false);
        let charge = account(&pool, 1).take(Kind::Open).unwrap();
        assert!(Arc::ptr_eq(&account(&pool, 1), charge.account()));
        drop(charge);
        assert!(lock(&pool.accounts).is_empty());
        assert_eq!(pool.held(Kind::Open), 0);
    }
}
