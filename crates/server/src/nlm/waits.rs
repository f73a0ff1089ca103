//! The locks that clients wait for, including those granted but not yet confirmed.
//!
//! A wait begins with a LOCK that is answered BLOCKED. It ends when the client confirms or refuses the lock or lets it
//! time out, when it sends LOCK, UNLOCK or CANCEL for the same range, or when its host restarts. Later messages about
//! an ended wait are ignored: a refusal of GRANTED that crosses a new LOCK must not release the new lock.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use state::{ByteRange, FileKey};

use super::HostKey;
use crate::remote::Remote;
use crate::tally::Tally;

/// The most waits in all files. One address may have as many as remain free; then its clients get DENIED_NOLOCKS.
const MAX_WAITS: usize = 16_384;
/// The time for a client to confirm its lock; then the lock is released. Linux's client retries by itself after 30 s.
const GRANT_TIMEOUT: Duration = Duration::from_secs(90);
/// The interval between calls to a client that does not answer.
const GRANT_INTERVAL: Duration = Duration::from_secs(10);
/// The interval between calls to a client that is in its own grace period.
const GRACE_INTERVAL: Duration = Duration::from_secs(3);

/// Identifies a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaitId(u64);

/// A lock that a client waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wait {
    /// The version of the lock protocol.
    pub(super) version: u32,
    /// The address and transport to call the client by.
    pub(super) remote: Remote,
    /// Whether the client asked by a message, and expects one in return.
    pub(super) by_message: bool,
    pub(super) host: HostKey,
    pub(super) owner: Vec<u8>,
    pub(super) file: FileKey,
    /// The file's handle as the client sent it.
    pub(super) handle: Vec<u8>,
    pub(super) range: ByteRange,
    pub(super) exclusive: bool,
}

#[derive(Debug)]
struct WaitEntry {
    wait: Wait,
    granted: Option<UnconfirmedGrant>,
}

/// A lock that was granted and is not confirmed.
#[derive(Debug, Clone, Copy)]
struct UnconfirmedGrant {
    next_call: Duration,
    until: Duration,
}

/// An action that is due for an unconfirmed lock.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Call the client.
    Call(WaitId, Wait),
    /// The client did not confirm it in time: the wait is over.
    GiveUp(Wait),
}

/// All waits.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<WaitTable>);

#[derive(Debug, Default)]
struct WaitTable {
    entries: BTreeMap<WaitId, WaitEntry>,
    /// The waits of each file, so that calls about one file need not scan all waits.
    by_file: BTreeSet<(FileKey, WaitId)>,
    tally: Tally,
    last: u64,
}

impl WaitTable {
    fn insert(&mut self, wait: Wait) -> WaitId {
        self.last += 1;
        let id = WaitId(self.last);
        self.by_file.insert((wait.file, id));
        self.tally.add(wait.host.origin());
        self.entries.insert(id, WaitEntry { wait, granted: None });
        id
    }

    fn remove(&mut self, id: WaitId) -> Option<Wait> {
        let WaitEntry { wait, .. } = self.entries.remove(&id)?;
        self.by_file.remove(&(wait.file, id));
        self.tally.remove(wait.host.origin());
        Some(wait)
    }

    /// The waits in a file, oldest first.
    fn in_file(&self, file: &FileKey) -> impl Iterator<Item = (WaitId, &Wait)> {
        let ids = self.by_file.range((*file, WaitId(0))..=(*file, WaitId(u64::MAX)));
        ids.filter_map(|(_, id)| Some((*id, &self.entries.get(id)?.wait)))
    }
}

impl WaitId {
    pub(super) fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<WaitId> {
        bytes.try_into().ok().map(|bytes| WaitId(u64::from_be_bytes(bytes)))
    }
}

/// An owner of locks, with the file that it waits for.
#[derive(Clone, Copy)]
pub(super) struct Waiter<'w> {
    pub(super) host: &'w HostKey,
    pub(super) owner: &'w [u8],
    pub(super) file: &'w FileKey,
}

impl Wait {
    fn is_for(&self, Waiter { host, owner, file }: Waiter<'_>, range: ByteRange) -> bool {
        self.host == *host && self.owner == owner && self.file == *file && self.range.overlaps(range)
    }
}

impl Waits {
    /// Adds a wait before the lock is requested, unless there are too many.
    pub(super) fn add(&self, wait: Wait) -> Option<WaitId> {
        let mut table = self.lock();
        table.tally.has_room(wait.host.origin(), MAX_WAITS).then(|| table.insert(wait))
    }

    /// Ends the wait `id` and returns it, if it still exists.
    pub(super) fn end(&self, id: WaitId) -> Option<Wait> {
        self.lock().remove(id)
    }

    /// Ends the waits of an owner in a range except `kept`; true if there were any.
    pub(super) fn end_overlapping(&self, waiter: Waiter<'_>, range: ByteRange, kept: Option<WaitId>) -> bool {
        let mut table = self.lock();
        let waits = table.in_file(waiter.file).filter(|(id, wait)| Some(*id) != kept && wait.is_for(waiter, range));
        let ended: Vec<WaitId> = waits.map(|(id, _)| id).collect();
        ended.iter().for_each(|id| drop(table.remove(*id)));
        !ended.is_empty()
    }

    /// Whether the wait `id` exists and belongs to a host at `address`.
    pub(super) fn is_of(&self, id: WaitId, address: IpAddr) -> bool {
        let table = self.lock();
        table.entries.get(&id).is_some_and(|entry| entry.wait.remote.address == address.to_canonical())
    }

    /// Ends all waits of the hosts for which `is_gone` holds.
    pub(super) fn end_hosts(&self, is_gone: impl Fn(&HostKey) -> bool) {
        let mut table = self.lock();
        let gone = table.entries.iter().filter(|(_, entry)| is_gone(&entry.wait.host)).map(|(id, _)| *id);
        let gone: Vec<WaitId> = gone.collect();
        gone.into_iter().for_each(|id| drop(table.remove(id)));
    }

    /// Records that the lock of `id` is granted. The caller must call the client now. `None` if the wait is over.
    pub(super) fn grant(&self, id: WaitId, now: Duration) -> Option<Wait> {
        let mut table = self.lock();
        let entry = table.entries.get_mut(&id)?;
        entry.granted = Some(UnconfirmedGrant { next_call: now + GRANT_INTERVAL, until: now + GRANT_TIMEOUT });
        Some(entry.wait.clone())
    }

    /// Records that the client is in its grace period, and must be called again soon.
    pub(super) fn defer(&self, id: WaitId, now: Duration) {
        let mut table = self.lock();
        if let Some(granted) = table.entries.get_mut(&id).and_then(|entry| entry.granted.as_mut()) {
            granted.next_call = now + GRACE_INTERVAL;
        }
    }

    /// The actions due by `now`.
    pub(super) fn due(&self, now: Duration) -> Vec<Due> {
        let mut table = self.lock();
        let mut due = Vec::new();
        let mut over = Vec::new();
        for (id, entry) in &mut table.entries {
            match &mut entry.granted {
                Some(granted) if granted.until <= now => over.push(*id),
                Some(granted) if granted.next_call <= now => {
                    granted.next_call = now + GRANT_INTERVAL;
                    due.push(Due::Call(*id, entry.wait.clone()));
                }
                _ => {}
            }
        }
        due.extend(over.into_iter().filter_map(|id| table.remove(id)).map(Due::GiveUp));
        due
    }

    fn lock(&self) -> MutexGuard<'_, WaitTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
