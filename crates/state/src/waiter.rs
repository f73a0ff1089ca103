//! The queue of waiters for a lock, in order (RFC 8881 §9.6). A host of the lock protocol is granted a lock that
//! becomes free. An NFSv4 client is notified and retries, and the lock is reserved for it for a moment.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::account::{Charge, Kind};
use crate::core::Core;
use crate::ids::{OwnerId, StateKey};
use crate::lock_set::HeldLock;
use crate::nlm::NlmNames;
use crate::owner::OwnerKind;
use crate::range_tree::OwnerRange;
use crate::{ByteRange, ClientId, Conflict, Event, FileKey, LockNotice, NlmGranted, State, StateError};

/// The expected time between the first two requests of a client that polls.
const FIRST_INTERVAL: Duration = Duration::from_secs(2);

/// How late a poll may be.
const POLL_SLACK: Duration = Duration::from_secs(2);

/// A requested lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestedLock {
    pub owner: OwnerId,
    pub range: ByteRange,
    pub exclusive: bool,
}

/// The kind of waiter, which decides how it is notified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WaitFor {
    Client(u32),
    /// A host: by NLM_GRANTED with the cookie of the request.
    Nlm(Box<[u8]>),
}

/// Who requests a lock.
#[derive(Debug)]
pub(crate) struct Requester {
    /// Its lock stateid, if it speaks NFSv4.
    pub state: Option<StateKey>,
    /// How it is notified; `None`: it does not wait.
    pub wait: Option<WaitFor>,
}

#[derive(Debug)]
pub(crate) struct Waiter {
    pub wanted: RequestedLock,
    pub wait: WaitFor,
    /// When the wait began.
    since: Duration,
    asked: Duration,
    /// The time between its last two requests.
    interval: Option<Duration>,
    /// Whether it is told when to request the lock again.
    is_notified: bool,
    /// The end of the reservation of a lock that became free.
    reserved_until: Option<Duration>,
    _charge: Charge,
}

impl Waiter {
    /// An NFSv4 client that gives up just stops retrying. One that is not notified polls ever more rarely: Linux
    /// doubles the interval each time.
    fn is_stale(&self, now: Duration, memory: Duration) -> bool {
        let memory = match self.is_notified {
            true => memory,
            false => memory.min(2 * self.interval.unwrap_or(FIRST_INTERVAL) + POLL_SLACK),
        };
        matches!(self.wait, WaitFor::Client(_)) && self.asked + memory < now
    }

    /// Whether it certainly waited at `since`. A host of the lock protocol says when it gives up, and an NFSv4 client
    /// that waits repeats its request.
    fn waits_at(&self, since: Duration) -> bool {
        matches!(self.wait, WaitFor::Nlm(_)) || self.interval.is_some() && self.asked >= since
    }

    fn repeat(&mut self, now: Duration, wait: WaitFor, is_notified: bool) {
        self.interval = Some(now.saturating_sub(self.asked));
        (self.asked, self.wait, self.is_notified) = (now, wait, is_notified);
    }

    fn blocks(&self, wanted: RequestedLock, now: Duration) -> bool {
        let reserved = self.reserved_until.is_some_and(|until| now < until);
        let as_lock = HeldLock {
            owner: self.wanted.owner,
            range: self.wanted.range,
            exclusive: self.wanted.exclusive,
            state: None,
        };
        reserved && as_lock.conflicts(wanted.owner, wanted.range, wanted.exclusive)
    }
}

/// Whether the waiters of a file are being processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Waking {
    #[default]
    No,
    Once,
    /// More locks became free meanwhile.
    Again,
}

/// The files with waiters, for the sweep.
pub(crate) type WaitingFiles = BTreeSet<Arc<FileKey>>;

impl State {
    /// Ends the wait of a client that could not be notified: the lock is not reserved for it any longer.
    pub fn lock_notice_failed(&self, now: Duration, notice: &LockNotice) {
        let mut core = self.core();
        let Some(owner) = core.owners.find(OwnerKind::Lock, notice.client.number(), &notice.owner) else { return };
        core.drop_waiters(&notice.file, |waiter| waiter.wanted.owner == owner && waiter.reserved_until.is_some());
        core.wake(now, &notice.file, ByteRange::WHOLE);
        core.settle_locks(&notice.file);
    }
}

impl Core {
    /// Fails if a lock that became free is reserved for an earlier waiter.
    pub(crate) fn check_turn(&self, now: Duration, file: &FileKey, wanted: RequestedLock) -> Result<(), StateError> {
        let waiting = self.locks_of(file).map(|locks| locks.waiting.as_slice()).unwrap_or_default();
        let before = waiting.iter().take_while(|waiter| waiter.wanted.owner != wanted.owner);
        let Some(first) = before.into_iter().find(|waiter| waiter.blocks(wanted, now)) else { return Ok(()) };
        let client = match first.wait {
            WaitFor::Client(number) => Some(ClientId::new(self.shared.boot, number)),
            WaitFor::Nlm(_) => None,
        };
        let owner = self.owners.get(first.wanted.owner).map(|owner| owner.name.bytes.clone()).unwrap_or_default();
        let RequestedLock { range, exclusive, .. } = first.wanted;
        Err(StateError::Denied(Box::new(Conflict { range, exclusive, client, owner })))
    }

    /// Queues a waiter; one that retries keeps its position.
    pub(crate) fn enqueue(
        &mut self,
        now: Duration,
        file: &FileKey,
        wanted: RequestedLock,
        wait: WaitFor,
    ) -> Result<(), StateError> {
        let file = &self.file_entry(file);
        if self.is_deadlock(now, file, wanted) {
            self.remove_waiters(file, |waiter| waiter.wanted == wanted);
            return Err(StateError::Deadlock);
        }
        let limit = self.limits().waiters_per_file;
        let is_notified = self.is_notified(&wait);
        let Some(locks) = self.locks_mut(file) else { return Ok(()) };
        if let Some(waiter) = locks.waiting.iter_mut().find(|waiter| waiter.wanted == wanted) {
            waiter.repeat(now, wait, is_notified);
            return Ok(());
        }
        let has_room = locks.waiting.len() < limit;
        let owner = self.owners.get(wanted.owner).filter(|_| has_room);
        let Some(charge) = owner.and_then(|owner| owner.charge.account().take(Kind::Wait).ok()) else {
            // An NFSv4 client retries anyway; only a host must learn that it will not be called.
            return if matches!(wait, WaitFor::Nlm(_)) { Err(StateError::Resource) } else { Ok(()) };
        };
        let Some(locks) = self.locks_mut(file) else { return Ok(()) };
        let (since, asked, reserved_until) = (now, now, None);
        locks.waiting.push(Waiter {
            wanted,
            wait,
            since,
            asked,
            interval: None,
            is_notified,
            reserved_until,
            _charge: charge,
        });
        if let Some(owner) = self.owners.get_mut(wanted.owner) {
            owner.waits.push(Arc::clone(file));
        }
        self.waiting_files.insert(Arc::clone(file));
        Ok(())
    }

    fn is_notified(&self, wait: &WaitFor) -> bool {
        match wait {
            WaitFor::Client(number) => {
                self.can_call_back(*number) && self.clients.get(number).is_some_and(|client| !client.is_v40())
            }
            WaitFor::Nlm(_) => true,
        }
    }

    /// Removes an owner's waits in a range, because it requests something else there, gives up, or has the lock.
    pub(crate) fn cancel_waits(&mut self, file: &FileKey, OwnerRange { owner, range }: OwnerRange) {
        self.drop_waiters(file, |waiter| waiter.wanted.owner == owner && waiter.wanted.range.overlaps(range));
    }

    /// Removes waiters from the queue, and their owners if these have no other state; true when there were any.
    pub(crate) fn drop_waiters(&mut self, file: &FileKey, gone: impl Fn(&Waiter) -> bool) -> bool {
        let owners = self.remove_waiters(file, gone);
        owners.iter().for_each(|owner| self.release_owner(*owner));
        !owners.is_empty()
    }

    /// Removes waiters from the queue, but not their owners.
    pub(crate) fn remove_waiters(&mut self, file: &FileKey, gone: impl Fn(&Waiter) -> bool) -> Vec<OwnerId> {
        let mut owners = Vec::new();
        let Some(locks) = self.files.get_mut(file).and_then(|entry| entry.locks.as_mut()) else { return owners };
        locks.waiting.retain(|waiter| {
            let stays = !gone(waiter);
            if !stays {
                owners.push(waiter.wanted.owner);
                locks.has_turn_ended |= waiter.reserved_until.is_some();
            }
            stays
        });
        if locks.waiting.is_empty() {
            self.waiting_files.remove(file);
        }
        for owner in &owners {
            if let Some(owner) = self.owners.get_mut(*owner)
                && let Some(at) = owner.waits.iter().position(|waits| **waits == *file)
            {
                owner.waits.swap_remove(at);
            }
        }
        owners
    }

    /// Processes the waiters of a file after locks became free. Locks that a round itself releases, from overdue
    /// clients, are left to the next round, to avoid recursion. Only waiters for a range in `freed` are checked, unless
    /// a reservation ended.
    pub(crate) fn wake(&mut self, now: Duration, file: &FileKey, freed: ByteRange) {
        if self.locks_of(file).is_none_or(|locks| locks.waiting.is_empty()) {
            return;
        }
        if self.waking != Waking::No {
            self.waking = Waking::Again;
            return;
        }
        let mut freed = freed;
        for _ in 0..self.limits().steps {
            self.waking = Waking::Once;
            self.wake_round(now, file, freed);
            freed = ByteRange::WHOLE;
            if self.waking == Waking::Once {
                break;
            }
        }
        self.waking = Waking::No;
    }

    fn wake_round(&mut self, now: Duration, file: &FileKey, freed: ByteRange) {
        let memory = self.limits().waiter_memory;
        self.drop_waiters(file, |waiter| waiter.is_stale(now, memory));
        let has_turn_ended = self.locks_mut(file).is_some_and(|locks| std::mem::take(&mut locks.has_turn_ended));
        let freed = if has_turn_ended { ByteRange::WHOLE } else { freed };
        let mut at = 0;
        while let Some(waiter) = self.locks_of(file).and_then(|locks| locks.waiting.get(at)) {
            if !waiter.wanted.range.overlaps(freed) {
                at += 1;
                continue;
            }
            let (wanted, wait) = (waiter.wanted, waiter.wait.clone());
            let free = self.is_free(now, file, wanted) && self.check_turn(now, file, wanted).is_ok();
            let removed = free && self.offer(now, file, wanted, wait);
            at += usize::from(!removed);
        }
    }

    /// Whether only locks of ended or overdue clients conflict, within a bounded check. They are removed when the lock
    /// is requested.
    fn is_free(&self, now: Duration, file: &FileKey, wanted: RequestedLock) -> bool {
        self.locks_of(file).is_none_or(|locks| {
            let conflicts = locks.held.conflicts(wanted.owner, wanted.range, wanted.exclusive);
            conflicts.take(self.limits().steps).all(|lock| self.is_abandoned(now, &lock))
        })
    }

    /// Grants a free lock to a host, or notifies a client; true when the waiter left the queue.
    fn offer(&mut self, now: Duration, file: &FileKey, wanted: RequestedLock, wait: WaitFor) -> bool {
        match wait {
            WaitFor::Nlm(cookie) => self.grant_nlm(now, file, wanted, cookie),
            WaitFor::Client(number) => {
                self.notify(now, file, wanted, number);
                false
            }
        }
    }

    fn notify(&mut self, now: Duration, file: &FileKey, wanted: RequestedLock, number: u32) {
        let until = now + self.limits().reservation;
        let Some(locks) = self.locks_mut(file) else { return };
        let Some(waiter) = locks.waiting.iter_mut().find(|waiter| waiter.wanted == wanted) else { return };
        if waiter.reserved_until.is_some() {
            return;
        }
        waiter.reserved_until = Some(until);
        let is_v41 = self.clients.get(&number).is_some_and(|client| !client.is_v40());
        if let (true, Some(owner)) = (is_v41, self.owners.get(wanted.owner)) {
            let owner = owner.name.bytes.clone();
            let client = ClientId::new(self.shared.boot, number);
            self.emit(Event::NotifyLock(LockNotice { client, owner, file: *file }));
        }
    }

    fn grant_nlm(&mut self, now: Duration, file: &FileKey, wanted: RequestedLock, cookie: Box<[u8]>) -> bool {
        if self.conflict_of(now, file, wanted).is_err() {
            return false;
        }
        let RequestedLock { owner, range, exclusive } = wanted;
        let Some(NlmNames { host, owner: name }) = self.nlm_names(owner) else {
            // The host has ended.
            return self.drop_waiters(file, |waiter| waiter.wanted == wanted);
        };
        if self.hold_lock(file, HeldLock { owner, range, exclusive, state: None }).is_err() {
            return false;
        }
        self.drop_waiters(file, |waiter| waiter.wanted == wanted);
        let granted = NlmGranted { host, owner: name, cookie, file: *file, range, exclusive };
        self.emit(Event::NlmGranted(Box::new(granted)));
        true
    }

    /// Checks some of the files with waiters: reservations and leases end, and local processes unlock without a
    /// notification.
    pub(crate) fn sweep_waiting(&mut self, now: Duration) {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = self.waiting_from.take().map_or(Unbounded, Excluded);
        let batch: Vec<_> = self.waiting_files.range((from, Unbounded)).take(self.limits().steps).cloned().collect();
        self.waiting_from = (batch.len() == self.limits().steps).then(|| batch.last().cloned()).flatten();
        for file in batch {
            self.wake(now, &file, ByteRange::WHOLE);
            self.settle_locks(&file);
        }
    }

    /// Whether waiting for a lock would be a deadlock: one of its holders waits, directly or indirectly, for
    /// `wanted.owner`. Each of them must have repeated its request since the wait for `wanted` began. The search is
    /// bounded in owners and locks, and returns false at its limit.
    fn is_deadlock(&self, now: Duration, file: &FileKey, wanted: RequestedLock) -> bool {
        let memory = self.limits().waiter_memory;
        let own = self.locks_of(file).and_then(|locks| locks.waiting.iter().find(|waiter| waiter.wanted == wanted));
        let since = own.map_or(now, |waiter| waiter.since);
        let still_waits = |waiter: &Waiter| waiter.waits_at(since) && !waiter.is_stale(now, memory);
        let mut seen = BTreeSet::new();
        let mut room = self.limits().locks_per_file;
        let mut open = self.holders_against(file, wanted, &mut room);
        for _ in 0..self.limits().deadlock_steps {
            let Some(holder) = open.pop_first() else { return false };
            if holder == wanted.owner {
                return true;
            }
            if !seen.insert(holder) {
                continue;
            }
            for waits_in in self.owners.get(holder).map(|owner| owner.waits.as_slice()).unwrap_or_default() {
                let waiting = self.locks_of(waits_in).map(|locks| locks.waiting.as_slice()).unwrap_or_default();
                for waiter in waiting.iter().filter(|w| w.wanted.owner == holder && still_waits(w)) {
                    open.extend(self.holders_against(waits_in, waiter.wanted, &mut room));
                }
            }
        }
        false
    }

    /// The owners of conflicting locks, out of the first `room` of them, which is reduced.
    fn holders_against(&self, file: &FileKey, wanted: RequestedLock, room: &mut usize) -> BTreeSet<OwnerId> {
        let Some(locks) = self.locks_of(file) else { return BTreeSet::new() };
        let conflicts = locks.held.conflicts(wanted.owner, wanted.range, wanted.exclusive).take(*room);
        conflicts.inspect(|_| *room -= 1).map(|lock| lock.owner).collect()
    }
}
