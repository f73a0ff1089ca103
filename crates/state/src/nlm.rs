//! The lock protocol of NFSv2 and NFSv3 (NLM versions 1, 3 and 4), whose locks are in the same table as NFSv4's.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use crate::account::{Account, Charge, Kind};
use crate::core::Core;
use crate::ids::OwnerId;
use crate::limits::NAME_MAX_BYTES;
use crate::owner::OwnerKind;
use crate::range_tree::OwnerRange;
use crate::records::RecordKind;
use crate::records::Recording;
use crate::waiter::{RequestedLock, Requester, WaitFor};
use crate::{ByteRange, FileKey, Origin, State, StateError};

/// The hosts of the lock protocol, by the names that they are monitored by.
#[derive(Debug, Default)]
pub(crate) struct NlmHosts {
    by_name: HashMap<Box<[u8]>, NlmHost>,
    names: HashMap<u32, Box<[u8]>>,
    last: u32,
    swept: Duration,
}

#[derive(Debug)]
struct NlmHost {
    number: u32,
    record: Recording,
    /// The time of its last request.
    used: Duration,
    charge: Charge,
}

impl NlmHosts {
    pub(crate) fn is_recorded(&self, name: &[u8]) -> bool {
        self.by_name.get(name).is_some_and(|host| host.record.is_kept())
    }

    pub(crate) fn record_mut(&mut self, name: &[u8]) -> Option<&mut Recording> {
        self.by_name.get_mut(name).map(|host| &mut host.record)
    }

    /// Takes idle hosts off the record; `is_idle` gets their record, number and last request.
    pub(crate) fn take_idle_records(
        &mut self,
        is_idle: impl Fn(&mut Recording, u32, Duration) -> bool,
    ) -> Vec<Box<[u8]>> {
        let mut idle = Vec::new();
        for (name, host) in self.by_name.iter_mut().filter(|(_, host)| host.record.is_kept()) {
            if is_idle(&mut host.record, host.number, host.used) {
                host.record.release();
                idle.push(name.clone());
            }
        }
        idle
    }

    pub(crate) fn number(&self, name: &[u8]) -> Option<u32> {
        self.by_name.get(name).map(|host| host.number)
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether a sweep is due, half of `idle` after the last one; records it as the last one.
    pub(crate) fn is_sweep_due(&mut self, now: Duration, idle: Duration) -> bool {
        let is_due = self.swept + idle / 2 <= now;
        if is_due {
            self.swept = now;
        }
        is_due
    }

    /// The hosts without requests since `since` for which `may_go` holds, by number.
    pub(crate) fn unused_since(
        &self,
        since: Duration,
        may_go: impl Fn(u32) -> bool,
    ) -> impl Iterator<Item = Box<[u8]>> {
        let unused = self.by_name.iter().filter(move |(_, host)| host.used < since && may_go(host.number));
        unused.map(|(name, _)| name.clone())
    }

    /// The account of a host by its number.
    pub(crate) fn account(&self, number: u32) -> Option<&Arc<Account>> {
        Some(self.by_name.get(self.names.get(&number)?)?.charge.account())
    }

    fn insert(&mut self, name: &[u8], now: Duration, charge: Charge) -> u32 {
        self.last += 1;
        self.by_name
            .insert(name.into(), NlmHost { number: self.last, record: Recording::default(), used: now, charge });
        self.names.insert(self.last, name.into());
        self.last
    }

    pub(crate) fn remove(&mut self, name: &[u8]) {
        if let Some(host) = self.by_name.remove(name) {
            self.names.remove(&host.number);
        }
    }
}

/// The names of an owner and its host.
pub(crate) struct NlmNames {
    pub host: Box<[u8]>,
    pub owner: Box<[u8]>,
}

/// A lock of the lock protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NlmLock<'a> {
    /// The host's name.
    pub host: &'a [u8],
    /// The origin of the host.
    pub origin: Origin,
    /// The lock owner: its handle and process ID, as bytes that are equal for equal owners.
    pub owner: &'a [u8],
    /// The file.
    pub file: FileKey,
    /// The range.
    pub range: ByteRange,
    /// Whether the lock is exclusive.
    pub exclusive: bool,
}

/// The mode of an NLM_LOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NlmMode<'a> {
    /// The lock is granted now or refused.
    Now,
    /// The host waits for the lock; [`crate::Event::NlmGranted`] returns this data.
    Wait(&'a [u8]),
    /// The host held the lock before the server restarted.
    Reclaim,
}

/// The result of NLM_LOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NlmOutcome {
    /// The lock is held.
    Granted,
    /// The host waits for it.
    Blocked,
}

impl State {
    /// NLM_LOCK. A retransmitted request that waits keeps its position.
    ///
    /// # Errors
    /// [`StateError::Denied`], `Deadlock`, `Grace`, `NoGrace`, `ReclaimBad`, `Delay` during a recall, `Resource`,
    /// `Records`.
    pub fn nlm_lock(&self, now: Duration, lock: &NlmLock<'_>, mode: NlmMode<'_>) -> Result<NlmOutcome, StateError> {
        self.with_room(
            now,
            |_| Some(lock.origin),
            |core| {
                let outcome = core.nlm_lock(now, lock, mode);
                core.settle_locks(&lock.file);
                outcome
            },
        )
    }

    /// NLM_TEST: reports the lock that NLM_LOCK would conflict with.
    ///
    /// # Errors
    /// [`StateError::Denied`], or `Grace`.
    pub fn nlm_test(&self, now: Duration, lock: &NlmLock<'_>) -> Result<(), StateError> {
        let mut core = self.core();
        if core.in_grace(now) {
            return Err(StateError::Grace);
        }
        let owner = core.nlm_owner(lock).unwrap_or(OwnerId::NOBODY);
        let wanted = RequestedLock { owner, range: lock.range, exclusive: lock.exclusive };
        core.test_lock(now, &lock.file, wanted)
    }

    /// NLM_UNLOCK. Unlocking an unlocked range succeeds.
    ///
    /// # Errors
    /// [`StateError::Unfinished`] after the release of some of many locks; `Resource` when splitting a lock would
    /// exceed the limit.
    pub fn nlm_unlock(&self, now: Duration, lock: &NlmLock<'_>) -> Result<(), StateError> {
        let mut core = self.core();
        let Some(owner) = core.nlm_owner(lock) else { return Ok(()) };
        core.begin_unlock(now, &lock.file, OwnerRange { owner, range: lock.range })?;
        core.nlm_unlock(now, owner, lock);
        Ok(())
    }

    /// Unlocks a lock from NLM_GRANTED that the host refused.
    pub fn nlm_give_back(&self, now: Duration, lock: &NlmLock<'_>) {
        let mut core = self.core();
        if let Some(owner) = core.nlm_owner(lock) {
            core.nlm_unlock(now, owner, lock);
        }
    }

    /// NLM_CANCEL: ends a wait. False when there is none, perhaps because the lock was granted.
    pub fn nlm_cancel(&self, lock: &NlmLock<'_>) -> bool {
        let mut core = self.core();
        let Some(owner) = core.nlm_owner(lock) else { return false };
        let wanted = RequestedLock { owner, range: lock.range, exclusive: lock.exclusive };
        let cancelled = core.drop_waiters(&lock.file, |waiter| waiter.wanted == wanted);
        core.settle_locks(&lock.file);
        cancelled
    }

    /// NLM_FREE_ALL, and restarts of hosts reported by the status monitor: ends the hosts whose name `is_gone`,
    /// including those recorded before this server's restart. A part of their state is removed at once, which wakes
    /// waiters, and the rest by [`State::tick`]. Returns the number of hosts.
    pub fn nlm_free_hosts(&self, now: Duration, is_gone: impl Fn(&[u8]) -> bool) -> usize {
        let mut core = self.core();
        let mut names: BTreeSet<Box<[u8]>> = core.nlm.by_name.keys().filter(|name| is_gone(name)).cloned().collect();
        names.extend(core.grace.absent(RecordKind::Nlm).filter(|name| is_gone(name)).map(Box::from));
        names.iter().for_each(|name| core.drop_nlm_host(name));
        core.remove_ended(now);
        names.len()
    }

    /// The hosts on record from before the restart that have not reclaimed yet.
    pub fn nlm_hosts_to_notify(&self) -> Vec<Box<[u8]>> {
        self.core().grace.absent(RecordKind::Nlm).map(Box::from).collect()
    }
}

impl Core {
    fn nlm_lock(&mut self, now: Duration, lock: &NlmLock<'_>, mode: NlmMode<'_>) -> Result<NlmOutcome, StateError> {
        self.check_nlm_grace(now, lock.host, mode == NlmMode::Reclaim)?;
        if mode != NlmMode::Reclaim {
            self.recall_for_lock(now, &lock.file, lock.exclusive)?;
        }
        let owner = self.new_nlm_owner(now, lock.host, lock.origin, lock.owner)?;
        self.record_nlm_host(lock.host, mode == NlmMode::Reclaim);
        let wanted = RequestedLock { owner, range: lock.range, exclusive: lock.exclusive };
        let wait = match mode {
            NlmMode::Wait(cookie) => Some(WaitFor::Nlm(cookie.into())),
            _ => None,
        };
        let waits = wait.is_some();
        match self.acquire(now, &lock.file, wanted, Requester { state: None, wait }) {
            Ok(()) => Ok(NlmOutcome::Granted),
            Err(StateError::Denied(_)) if waits => Ok(NlmOutcome::Blocked),
            Err(refused) => {
                self.release_owner(owner);
                Err(refused)
            }
        }
    }

    fn nlm_unlock(&mut self, now: Duration, owner: OwnerId, lock: &NlmLock<'_>) {
        // An owner that unlocks a range no longer wants it; a pending grant would outlive the unlock.
        let of_owner = OwnerRange { owner, range: lock.range };
        self.cancel_waits(&lock.file, of_owner);
        self.release_range(now, &lock.file, of_owner);
        self.forget_nlm_file(owner, &lock.file);
        self.settle_locks(&lock.file);
    }

    fn nlm_owner(&self, lock: &NlmLock<'_>) -> Option<OwnerId> {
        self.owners.find(OwnerKind::Nlm, self.nlm.number(lock.host)?, lock.owner)
    }

    /// The owner of this name of a host at an origin; creates both if needed.
    pub(crate) fn new_nlm_owner(
        &mut self,
        now: Duration,
        host: &[u8],
        origin: Origin,
        owner: &[u8],
    ) -> Result<OwnerId, StateError> {
        let known = self.nlm.by_name.get_mut(host).map(|known| {
            known.used = now;
            known.number
        });
        let number = match known {
            Some(number) => number,
            None if host.len() > NAME_MAX_BYTES => return Err(StateError::Inval),
            None => {
                if self.nlm.by_name.len() >= self.limits().nlm_hosts {
                    self.forget_idle_nlm_host();
                }
                let charge = self.shared.pool.account(origin).take(Kind::NlmHost)?;
                self.nlm.insert(host, now, charge)
            }
        };
        self.owner(now, OwnerKind::Nlm, number, owner)
    }

    /// The names of an owner and its host.
    pub(crate) fn nlm_names(&self, owner: OwnerId) -> Option<NlmNames> {
        let name = &self.owners.get(owner)?.name;
        Some(NlmNames { host: self.nlm.names.get(&name.group)?.clone(), owner: name.bytes.clone() })
    }

    pub(crate) fn note_nlm_file(&mut self, owner: OwnerId, file: &FileKey) {
        let file = self.file_entry(file);
        if let Some(owner) = self.owners.get_mut(owner) {
            owner.nlm_files.insert(file);
        }
    }

    /// Removes a file from an owner's list if the owner has no state in it.
    pub(crate) fn forget_nlm_file(&mut self, owner: OwnerId, file: &FileKey) {
        let has = self
            .locks_of(file)
            .is_some_and(|locks| locks.held.has_owner(owner) || locks.shares.iter().any(|share| share.owner == owner));
        if let (false, Some(found)) = (has, self.owners.get_mut(owner)) {
            found.nlm_files.remove(file);
        }
        self.release_owner(owner);
    }

    /// Ends a host: its state no longer conflicts, and is removed step by step.
    fn drop_nlm_host(&mut self, host: &[u8]) {
        let recorded = self.nlm.is_recorded(host) || self.grace.is_absent(RecordKind::Nlm, host);
        if let Some(number) = self.nlm.number(host) {
            self.nlm.remove(host);
            self.removing_hosts.push_back(number);
        }
        if recorded {
            self.take_off_record(&[(RecordKind::Nlm, host)]);
            self.grace.forget(RecordKind::Nlm, host);
        }
    }

    /// Whether an owner belongs to a removed host of the lock protocol.
    pub(crate) fn is_of_gone_host(&self, owner: OwnerId) -> bool {
        let name = self.owners.get(owner).map(|owner| &owner.name);
        name.is_some_and(|name| name.nlm && !self.nlm.names.contains_key(&name.group))
    }

    /// Removes some of an owner's state, and finally the owner. Returns the number of steps used.
    pub(crate) fn remove_some_of_nlm_owner(&mut self, now: Duration, id: OwnerId, at_most: usize) -> usize {
        let Some(owner) = self.owners.get(id) else { return 1 };
        if let Some(file) = owner.waits.first().cloned() {
            self.cancel_waits(&file, OwnerRange { owner: id, range: ByteRange::WHOLE });
            self.settle_locks(&file);
            return 1;
        }
        let Some(file) = owner.nlm_files.first().cloned() else {
            self.owners.remove(id);
            return 1;
        };
        let locks = self.locks_of(&file).and_then(|locks| locks.held.first_of(id, ByteRange::WHOLE, at_most));
        if let Some((count, range)) = locks {
            self.release_range(now, &file, OwnerRange { owner: id, range });
            self.settle_locks(&file);
            return count;
        }
        self.drop_nlm_share(id, &file);
        1
    }
}
