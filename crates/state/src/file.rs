//! The state of files: opens, locks and delegations, and their removal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use vfs::FileLease;

use crate::account::Charge;
use crate::core::Core;
use crate::delegation::Delegation;
use crate::guard::Guard;
use crate::host_leases::Hold;
use crate::ids::{OwnerId, StateKey, next_seqid};
use crate::lock_set::LockSet;
use crate::nlm_share::NlmShare;
use crate::open_set::OpenSet;
use crate::share::{Share, SharesSeen};
use crate::stateid_table::{Published, StateidStatus};
use crate::waiter::Waiter;
use crate::{DelegationKind, FileKey, ShareAccess, ShareDeny, StateError, StateKind, Stateid};

/// The state behind one stateid.
#[derive(Debug)]
pub(crate) struct StateidEntry {
    pub owner: OwnerId,
    pub file: Arc<FileKey>,
    pub seqid: u32,
    pub status: StateidStatus,
    pub body: Body,
    /// The resource that it counts as.
    pub _charge: Charge,
}

#[derive(Debug)]
pub(crate) enum Body {
    Open(Open),
    Lock(LockState),
    Delegation(Delegation),
}

#[derive(Debug)]
pub(crate) struct Open {
    pub access: ShareAccess,
    pub deny: ShareDeny,
    pub seen: SharesSeen,
    /// The lock stateids that were created from this open.
    pub locks: BTreeSet<StateKey>,
}

impl Open {
    pub(crate) fn share(&self) -> Share {
        Share { access: self.access, deny: self.deny }
    }
}

#[derive(Debug)]
pub(crate) struct LockState {
    pub open: StateKey,
}

/// A file with state.
#[derive(Debug)]
pub(crate) struct File {
    pub opens: OpenSet,
    pub delegations: Vec<StateKey>,
    /// The host's lease, while there are delegations that need it.
    pub lease: Option<Box<dyn FileLease>>,
    /// The host's hold, if it could be taken.
    pub hold: Option<Hold>,
    pub locks: Option<Box<FileLocks>>,
}

#[derive(Debug, Default)]
pub(crate) struct FileLocks {
    pub held: LockSet,
    /// The open file of the host that has the locks, charged to the origin that locked it first.
    pub host_file: Option<Charge>,
    /// The lock stateid of each owner that has one.
    pub states: BTreeMap<OwnerId, StateKey>,
    pub waiting: Vec<Waiter>,
    /// Whether a waiter with a reserved lock has left `waiting`, so that later waiters may be next.
    pub has_turn_ended: bool,
    pub shares: Vec<NlmShare>,
}

impl StateidEntry {
    /// Fails unless it is a usable open.
    pub(crate) fn check_open(&self) -> Result<(), StateError> {
        self.status.check()?;
        if self.open().is_some() { Ok(()) } else { Err(StateError::BadStateid) }
    }

    /// Fails unless it is an open that can be closed, confirmed or not.
    pub(crate) fn check_closable(&self) -> Result<(), StateError> {
        self.check_unconfirmed().or_else(|_| self.check_open())
    }

    pub(crate) fn check_unconfirmed(&self) -> Result<(), StateError> {
        if self.status == StateidStatus::Unconfirmed { Ok(()) } else { Err(StateError::BadStateid) }
    }

    pub(crate) fn check_lock(&self) -> Result<(), StateError> {
        self.status.check()?;
        if matches!(self.body, Body::Lock(_)) { Ok(()) } else { Err(StateError::BadStateid) }
    }

    pub(crate) fn check_delegation(&self) -> Result<(), StateError> {
        self.status.check()?;
        if self.delegation().is_some() { Ok(()) } else { Err(StateError::BadStateid) }
    }

    pub(crate) fn open(&self) -> Option<&Open> {
        match &self.body {
            Body::Open(open) => Some(open),
            _ => None,
        }
    }

    pub(crate) fn open_mut(&mut self) -> Option<&mut Open> {
        match &mut self.body {
            Body::Open(open) => Some(open),
            _ => None,
        }
    }

    pub(crate) fn delegation(&self) -> Option<&Delegation> {
        match &self.body {
            Body::Delegation(delegation) => Some(delegation),
            _ => None,
        }
    }

    pub(crate) fn delegation_mut(&mut self) -> Option<&mut Delegation> {
        match &mut self.body {
            Body::Delegation(delegation) => Some(delegation),
            _ => None,
        }
    }
}

impl FileLocks {
    /// Whether the lock protocol has state or waiters here.
    pub(crate) fn is_used_by_nlm(&self) -> bool {
        !self.shares.is_empty() || !self.waiting.is_empty() || self.held.has_stateless()
    }

    fn is_empty(&self) -> bool {
        self.held.is_empty() && self.states.is_empty() && self.waiting.is_empty() && self.shares.is_empty()
    }
}

impl Core {
    /// The shared key of a file; creates its entry if needed.
    pub(crate) fn file_entry(&mut self, file: &FileKey) -> Arc<FileKey> {
        if let Some((key, _)) = self.files.get_key_value(file) {
            return Arc::clone(key);
        }
        let key = Arc::new(*file);
        self.files.insert(
            Arc::clone(&key),
            File { opens: OpenSet::default(), delegations: Vec::new(), lease: None, hold: None, locks: None },
        );
        key
    }

    pub(crate) fn locks_mut(&mut self, file: &FileKey) -> Option<&mut FileLocks> {
        self.files.get_mut(file).map(|file| &mut **file.locks.get_or_insert_default())
    }

    pub(crate) fn locks_of(&self, file: &FileKey) -> Option<&FileLocks> {
        self.files.get(file)?.locks.as_deref()
    }

    /// Whether a state can conflict: it is valid and its client exists.
    pub(crate) fn holds(&self, key: StateKey) -> bool {
        self.clients.contains_key(&key.client()) && self.states.get(&key).is_some_and(|held| held.status.holds())
    }

    /// Publishes a state for the hot path.
    pub(crate) fn publish(&self, key: StateKey) {
        let Some(held) = self.states.get(&key) else { return };
        let Some(client) = self.clients.get(&key.client()) else { return };
        let (kind, access) = match &held.body {
            Body::Open(open) => (StateKind::Open, open.access),
            Body::Lock(lock) => (StateKind::Lock, self.access_of(lock.open)),
            Body::Delegation(Delegation { kind: DelegationKind::Read, .. }) => {
                (StateKind::ReadDelegation, ShareAccess::READ)
            }
            Body::Delegation(_) => (StateKind::WriteDelegation, ShareAccess::BOTH),
        };
        let published = Published {
            lease: Arc::clone(&client.lease),
            file: Arc::clone(&held.file),
            seqid: held.seqid,
            access,
            kind,
            status: held.status,
        };
        self.shared.stateids.write(key).insert(key, published);
    }

    fn access_of(&self, open: StateKey) -> ShareAccess {
        self.states.get(&open).and_then(StateidEntry::open).map_or(ShareAccess::default(), |open| open.access)
    }

    /// Increments the seqid of a state, here and where it is published.
    pub(crate) fn bump(&mut self, key: StateKey) -> Stateid {
        let Some(held) = self.states.get_mut(&key) else { return Stateid::INVALID };
        held.seqid = next_seqid(held.seqid);
        let seqid = held.seqid;
        let published = self.shared.stateids.write(key).get_mut(&key).map(|published| published.seqid = seqid);
        // A new state of locks is published with its first lock.
        if published.is_none() {
            self.publish(key);
        }
        Stateid::of(self.shared.boot, key, seqid)
    }

    /// Publishes a file's conflicts for accesses without an open, and removes the file's entry if it is empty.
    pub(crate) fn settle(&mut self, file: &FileKey) {
        let Some(entry) = self.files.get_mut(file) else { return };
        if entry.locks.as_ref().is_some_and(|locks| locks.is_empty()) {
            entry.locks = None;
        }
        if entry.delegations.is_empty() {
            entry.lease = None;
        }
        let empty = entry.opens.is_empty() && entry.delegations.is_empty() && entry.locks.is_none();
        let shares = entry.locks.iter().flat_map(|locks| &locks.shares).map(|share| share.deny);
        let deny = shares.fold(entry.opens.deny(), ShareDeny::union);
        let delegations =
            entry.delegations.iter().filter_map(|key| self.states.get(key)).filter_map(StateidEntry::delegation);
        let guard = Guard { deny, delegated: delegations.map(|delegation| delegation.kind).max() };
        self.shared.guards.set(file, guard);
        if empty {
            let removed = self.files.remove(file);
            self.ended_holds.extend(removed.and_then(|file| file.hold));
        }
    }

    /// [`Core::settle`] after a change of locks only, not of opens, delegations or shares.
    pub(crate) fn settle_locks(&mut self, file: &FileKey) {
        let Some(entry) = self.files.get_mut(file) else { return };
        if entry.locks.as_ref().is_some_and(|locks| locks.is_empty()) {
            entry.locks = None;
        }
        if entry.opens.is_empty() && entry.delegations.is_empty() && entry.locks.is_none() {
            self.settle(file);
        }
    }

    /// Removes a state completely.
    pub(crate) fn remove_state(&mut self, now: Duration, key: StateKey) {
        self.detach(now, key);
        let Some(held) = self.states.remove(&key) else { return };
        self.shared.stateids.write(key).remove(&key);
        if held.status.is_revoked() {
            self.forget_revoked(key.client(), held.status);
        }
        self.release_owner(held.owner);
    }

    /// Revokes a state and keeps the reason under its stateid, until the client frees it or ends.
    ///
    /// # Errors
    /// When the client's record cannot be marked; nothing is revoked then.
    pub(crate) fn revoke(&mut self, now: Duration, key: StateKey, why: StateidStatus) -> Result<(), StateError> {
        self.mark_record(key.client())?;
        let locks =
            self.states.get(&key).and_then(StateidEntry::open).map(|open| open.locks.clone()).unwrap_or_default();
        for lock in locks {
            self.revoke_marked(now, lock, why);
        }
        self.revoke_marked(now, key, why);
        Ok(())
    }

    fn revoke_marked(&mut self, now: Duration, key: StateKey, why: StateidStatus) {
        self.detach(now, key);
        let Some(held) = self.states.get_mut(&key) else { return };
        held.status = why;
        let owner = held.owner;
        self.publish(key);
        self.release_owner(owner);
        self.note_revoked(now, key.client(), why);
    }

    /// Ends a state's effects: removes it from its file and owner, and releases its locks.
    pub(crate) fn detach(&mut self, now: Duration, key: StateKey) {
        let Some(held) = self.states.get_mut(&key) else { return };
        let (owner, file) = (held.owner, Arc::clone(&held.file));
        let locks = held.open_mut().map(|open| std::mem::take(&mut open.locks)).unwrap_or_default();
        let open = match &held.body {
            Body::Lock(lock) => Some(lock.open),
            _ => None,
        };
        let share = held.open().map(Open::share);
        for lock in locks {
            self.remove_state(now, lock);
        }
        if let Some(owner) = self.owners.get_mut(owner) {
            owner.states.remove(&key);
        }
        self.recalls.forget(key);
        if let Some(open) = open {
            return self.detach_locks(now, &file, &LockStateid { owner, key, open });
        }
        if let Some(entry) = self.files.get_mut(&file) {
            if let Some(share) = share {
                entry.opens.remove(owner, share, key);
            }
            entry.delegations.retain(|delegation| *delegation != key);
        }
        self.settle(&file);
    }

    /// Releases the locks of a lock stateid, and removes it from its file and open.
    fn detach_locks(&mut self, now: Duration, file: &FileKey, removed: &LockStateid) {
        let LockStateid { owner, key, open } = *removed;
        self.drop_locks_of(now, file, owner, key);
        if let Some(open) = self.states.get_mut(&open).and_then(StateidEntry::open_mut) {
            open.locks.remove(&key);
        }
        if let Some(locks) = self.files.get_mut(file).and_then(|entry| entry.locks.as_mut())
            && locks.states.get(&owner) == Some(&key)
        {
            locks.states.remove(&owner);
        }
        self.settle_locks(file);
    }
}

/// A lock stateid, with its lock owner and its open.
struct LockStateid {
    owner: OwnerId,
    key: StateKey,
    open: StateKey,
}
