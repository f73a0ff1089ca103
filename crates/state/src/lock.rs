//! LOCK, LOCKT, LOCKU and RELEASE_LOCKOWNER (RFC 8881 §18.10–12, RFC 7530 §16.10–12, §16.37).

use std::sync::Arc;
use std::time::Duration;

use crate::account::{Charge, Kind};
use crate::core::Core;
use crate::file::{Body, LockState, StateidEntry};
use crate::ids::{OwnerId, StateKey};
use crate::lock_set::{HeldLock, HostRange};
use crate::owner::OwnerKind;
use crate::range_tree::OwnerRange;
use crate::stateid_table::StateidStatus;
use crate::waiter::{RequestedLock, Requester, WaitFor};
use crate::{ByteRange, ClientId, Conflict, FileKey, ScopedStateid, State, StateError, Stateid, StateidScope};

/// The lock owner of a LOCK (`locker4`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locker<'a> {
    /// A lock owner that has no stateid for this file yet, with its open.
    New {
        /// The open.
        open: &'a Stateid,
        /// The lock owner's name.
        owner: &'a [u8],
    },
    /// A lock owner, by the stateid of its locks in this file.
    Existing(&'a Stateid),
}

/// The arguments of LOCK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockArgs<'a> {
    /// The protocol and client of the request.
    pub scope: StateidScope,
    /// The file.
    pub file: FileKey,
    /// The lock owner.
    pub locker: Locker<'a>,
    /// The range to lock.
    pub range: ByteRange,
    /// Whether the lock is exclusive.
    pub exclusive: bool,
    /// Whether the client waits for the lock: READW_LT and WRITEW_LT.
    pub blocking: bool,
    /// Whether the client held the lock before the server restarted.
    pub reclaim: bool,
}

/// The arguments of LOCKT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockTest<'a> {
    /// The client.
    pub client: ClientId,
    /// The lock owner's name.
    pub owner: &'a [u8],
    /// The file.
    pub file: FileKey,
    /// The range to test.
    pub range: ByteRange,
    /// Whether the lock would be exclusive.
    pub exclusive: bool,
}

impl State {
    /// LOCK. A blocking request that is refused is queued; [`crate::Event::NotifyLock`] reports when to retry it.
    ///
    /// # Errors
    /// [`StateError::Denied`], `Deadlock`, `OpenMode`, `Grace`, `NoGrace`, `ReclaimBad`, `ReclaimConflict`, `BadSeqid`
    /// when a new NFSv4.0 lock owner already has locks in the file, `Resource`, and errors of the stateid.
    pub fn lock(&self, now: Duration, args: &LockArgs<'_>) -> Result<Stateid, StateError> {
        let (Locker::New { open: stateid, .. } | Locker::Existing(stateid)) = args.locker;
        let origin = |core: &Core| core.origin_of(core.locate(stateid).ok()?.client());
        self.with_room(now, origin, |core| core.try_lock(now, args))
    }

    /// LOCKT: reports the lock that LOCK would conflict with.
    ///
    /// # Errors
    /// [`StateError::Denied`], `StaleClientid`, `Expired`, `Grace`.
    pub fn lock_test(&self, now: Duration, args: &LockTest<'_>) -> Result<(), StateError> {
        let mut core = self.core();
        core.live_client(now, args.client)?;
        core.check_grace(now, args.client, false)?;
        // An unknown owner conflicts with every lock.
        let owner = core.owners.find(OwnerKind::Lock, args.client.number(), args.owner).unwrap_or(OwnerId::NOBODY);
        let wanted = RequestedLock { owner, range: args.range, exclusive: args.exclusive };
        core.test_lock(now, &args.file, wanted)
    }

    /// LOCKU. Unlocking an unlocked range succeeds.
    ///
    /// # Errors
    /// [`StateError::Unfinished`] after the release of some of many locks; `Resource` when splitting a lock would
    /// exceed the limit, and errors of the stateid.
    pub fn unlock(
        &self,
        now: Duration,
        lock: ScopedStateid<'_>,
        file: &FileKey,
        range: ByteRange,
    ) -> Result<Stateid, StateError> {
        let mut core = self.core();
        let key = core.find(now, lock, file, StateidEntry::check_lock)?;
        core.goes_on(now, key.client());
        let owner = core.states.get(&key).ok_or(StateError::BadStateid)?.owner;
        let of_owner = OwnerRange { owner, range };
        core.begin_unlock(now, file, of_owner)?;
        core.release_range(now, file, of_owner);
        // The stateid keeps the file's entry.
        Ok(core.bump(key))
    }

    /// RELEASE_LOCKOWNER (NFSv4.0): removes a lock owner without locks.
    ///
    /// # Errors
    /// [`StateError::LocksHeld`], `StaleClientid`, `Expired`.
    pub fn release_lockowner(&self, now: Duration, client: ClientId, owner: &[u8]) -> Result<(), StateError> {
        let mut core = self.core();
        core.live_client(now, client)?;
        let Some(id) = core.owners.find(OwnerKind::Lock, client.number(), owner) else { return Ok(()) };
        let states: Vec<StateKey> = core.owners.get(id).map(|o| o.states.iter().copied().collect()).unwrap_or_default();
        if states.iter().any(|key| core.has_locks(*key)) {
            return Err(StateError::LocksHeld);
        }
        states.into_iter().for_each(|key| core.remove_state(now, key));
        core.owners.remove(id);
        Ok(())
    }
}

impl Core {
    fn has_locks(&self, key: StateKey) -> bool {
        let Some(held) = self.states.get(&key) else { return false };
        self.locks_of(&held.file).is_some_and(|locks| locks.held.has_state(held.owner, key))
    }

    fn try_lock(&mut self, now: Duration, args: &LockArgs<'_>) -> Result<Stateid, StateError> {
        let key = match args.locker {
            Locker::New { open, owner } => self.new_locker(now, args, open, owner)?,
            Locker::Existing(stateid) => {
                self.find(now, args.scope.of(stateid), &args.file, StateidEntry::check_lock)?
            }
        };
        let locked = self.lock(now, args, key);
        // A lock keeps the file's entry.
        if locked.is_err() {
            if matches!(args.locker, Locker::New { .. }) {
                self.drop_unused_locker(now, key);
            }
            self.settle_locks(&args.file);
        }
        locked
    }

    /// The lock state of a lock owner in this file; created under an open if there is none.
    fn new_locker(
        &mut self,
        now: Duration,
        args: &LockArgs<'_>,
        open: &Stateid,
        name: &[u8],
    ) -> Result<StateKey, StateError> {
        let open = self.find(now, args.scope.of(open), &args.file, StateidEntry::check_open)?;
        let client = open.client();
        let owner = self.owner(now, OwnerKind::Lock, client, name)?;
        if let Some(key) = self.locks_of(&args.file).and_then(|locks| locks.states.get(&owner).copied()) {
            // The owner was not new after all; in NFSv4.0 its seqid was valid nevertheless.
            return Ok(key);
        }
        let charge = match self.charge_lock_state(client, &args.file) {
            Ok(charge) => charge,
            Err(refused) => {
                self.release_owner(owner);
                return Err(refused);
            }
        };
        let key = self.new_key(client)?;
        let file = self.file_entry(&args.file);
        let body = Body::Lock(LockState { open });
        let status = StateidStatus::Valid;
        self.states
            .insert(key, StateidEntry { owner, file: Arc::clone(&file), seqid: 0, status, body, _charge: charge });
        if let Some(locks) = self.locks_mut(&file) {
            locks.states.insert(owner, key);
        }
        if let Some(open) = self.states.get_mut(&open).and_then(StateidEntry::open_mut) {
            open.locks.insert(key);
        }
        if let Some(owner) = self.owners.get_mut(owner) {
            owner.states.insert(key);
        }
        Ok(key)
    }

    fn charge_lock_state(&self, client: u32, file: &FileKey) -> Result<Charge, StateError> {
        match self.locks_of(file) {
            Some(locks) if locks.states.len() >= self.limits().locks_per_file => Err(StateError::Resource),
            _ => self.account_of(client)?.take(Kind::LockState),
        }
    }

    /// Removes the new lock state of an owner that got no lock: no client knows its stateid.
    fn drop_unused_locker(&mut self, now: Duration, key: StateKey) {
        if self.states.get(&key).is_some_and(|held| held.seqid == 0) {
            self.remove_state(now, key);
        }
    }

    fn lock(&mut self, now: Duration, args: &LockArgs<'_>, key: StateKey) -> Result<Stateid, StateError> {
        let client = ClientId::new(self.shared.boot, key.client());
        self.check_grace(now, client, args.reclaim)?;
        let owner = self.owner_for_lock(key, args.exclusive)?;
        let wanted = RequestedLock { owner, range: args.range, exclusive: args.exclusive };
        let wait = args.blocking.then_some(WaitFor::Client(key.client()));
        match self.acquire(now, &args.file, wanted, Requester { state: Some(key), wait }) {
            Err(StateError::Denied(_)) if args.reclaim => Err(StateError::ReclaimConflict),
            Err(refused) => Err(refused),
            Ok(()) => Ok(self.bump(key)),
        }
    }

    /// The owner of a lock state. A lock requires an open with the same access, as RFC 8881 §18.10.4 permits.
    fn owner_for_lock(&self, key: StateKey, exclusive: bool) -> Result<OwnerId, StateError> {
        let held = self.states.get(&key).ok_or(StateError::BadStateid)?;
        let Body::Lock(lock) = &held.body else { return Err(StateError::BadStateid) };
        let open = self.states.get(&lock.open).and_then(StateidEntry::open);
        let access = open.ok_or(StateError::BadStateid)?.access;
        let allowed = if exclusive { access.writes() } else { access.reads() };
        if allowed { Ok(held.owner) } else { Err(StateError::OpenMode) }
    }

    /// Locks a range for an owner of any protocol, or queues the request.
    pub(crate) fn acquire(
        &mut self,
        now: Duration,
        file: &FileKey,
        wanted: RequestedLock,
        requester: Requester,
    ) -> Result<(), StateError> {
        let Requester { state, wait } = requester;
        let has_waiters = self.locks_of(file).is_some_and(|locks| !locks.waiting.is_empty());
        if has_waiters {
            // Other waits of the owner in this range would replace this lock when granted.
            self.remove_waiters(file, |waiter| {
                let other = waiter.wanted;
                other != wanted && other.owner == wanted.owner && other.range.overlaps(wanted.range)
            });
        }
        let free = match self.conflict_of(now, file, wanted) {
            Ok(()) if wait.is_some() => self.check_turn(now, file, wanted),
            other => other,
        };
        let lock = HeldLock { owner: wanted.owner, range: wanted.range, exclusive: wanted.exclusive, state };
        match free.and_then(|()| self.hold_lock(file, lock)) {
            Ok(()) if has_waiters => {
                self.cancel_waits(file, OwnerRange { owner: wanted.owner, range: wanted.range });
                // A downgrade may let waiters in.
                self.wake(now, file, wanted.range);
                Ok(())
            }
            Ok(()) => Ok(()),
            Err(StateError::Denied(conflict)) => {
                match wait {
                    Some(wait) => self.enqueue(now, file, wanted, wait)?,
                    None => self.cancel_waits(file, OwnerRange { owner: wanted.owner, range: wanted.range }),
                }
                Err(StateError::Denied(conflict))
            }
            Err(refused) => Err(refused),
        }
    }

    /// Tests whether a lock would be granted, including conflicts with local processes.
    pub(crate) fn test_lock(&mut self, now: Duration, file: &FileKey, wanted: RequestedLock) -> Result<(), StateError> {
        self.conflict_of(now, file, wanted)?;
        Ok(self.host.test(file, HostRange { range: wanted.range, exclusive: wanted.exclusive })?)
    }

    /// The first conflicting lock of another owner, after the locks of ended and overdue clients are removed.
    pub(crate) fn conflict_of(
        &mut self,
        now: Duration,
        file: &FileKey,
        wanted: RequestedLock,
    ) -> Result<(), StateError> {
        for _ in 0..self.limits().steps {
            let Some(locks) = self.locks_of(file) else { return Ok(()) };
            let found = locks.held.first_conflict(wanted.owner, wanted.range, wanted.exclusive);
            let Some(first) = found else { return Ok(()) };
            match first.state {
                _ if !self.is_abandoned(now, &first) => {
                    return Err(StateError::Denied(Box::new(self.describe(&first))));
                }
                Some(state) if self.clients.contains_key(&state.client()) => self.clear(now, state)?,
                // The other state of the client or host is removed in steps; this lock now.
                _ => self.release_range(now, file, OwnerRange { owner: first.owner, range: first.range }),
            }
        }
        Err(StateError::Delay)
    }

    /// Whether a lock belongs to an ended client or host, or to an overdue client.
    pub(crate) fn is_abandoned(&self, now: Duration, lock: &HeldLock) -> bool {
        lock.state.map_or_else(|| self.is_of_gone_host(lock.owner), |state| self.is_clearable(now, state))
    }

    pub(crate) fn describe(&self, lock: &HeldLock) -> Conflict {
        let client = lock.state.map(|state| ClientId::new(self.shared.boot, state.client()));
        let owner = self.owners.get(lock.owner).map(|owner| owner.name.bytes.clone()).unwrap_or_default();
        Conflict { range: lock.range, exclusive: lock.exclusive, client, owner }
    }
}
