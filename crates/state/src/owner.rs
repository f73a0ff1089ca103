//! Open owners, lock owners and the owners of the lock protocol, in one table.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::account::{Charge, Kind};
use crate::core::Core;
use crate::ids::{OwnerId, StateKey};
use crate::limits::NAME_MAX_BYTES;
use crate::seqid::Seqid;
use crate::{FileKey, StateError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OwnerKind {
    Open,
    Lock,
    /// Its `group` is the number of a host, not of a client.
    Nlm,
}

/// Names are ordered by client or host, so that one client's owners are adjacent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnerName {
    pub nlm: bool,
    pub group: u32,
    pub kind: OwnerKind,
    pub bytes: Box<[u8]>,
}

impl OwnerName {
    fn new(kind: OwnerKind, group: u32, bytes: &[u8]) -> OwnerName {
        OwnerName { nlm: kind == OwnerKind::Nlm, group, kind, bytes: bytes.into() }
    }
}

#[derive(Debug)]
pub(crate) struct Owner {
    pub name: Arc<OwnerName>,
    pub states: BTreeSet<StateKey>,
    /// The files in which an owner of the lock protocol has locks or shares.
    pub nlm_files: BTreeSet<Arc<FileKey>>,
    /// The files in which the owner waits for a lock.
    pub waits: Vec<Arc<FileKey>>,
    /// The request sequence of NFSv4.0.
    pub seqid: Option<Box<Seqid>>,
    /// Whether OPEN_CONFIRM is no longer needed (RFC 7530 §16.18.5).
    pub confirmed: bool,
    pub used: Duration,
    /// The charge for the owner itself.
    pub charge: Charge,
}

#[derive(Debug, Default)]
pub(crate) struct Owners {
    by_id: foldhash::HashMap<OwnerId, Owner>,
    by_name: BTreeMap<Arc<OwnerName>, OwnerId>,
    last: u64,
    /// The position of the sweep for idle owners.
    sweep_from: Option<Arc<OwnerName>>,
}

impl Owners {
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn get(&self, id: OwnerId) -> Option<&Owner> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: OwnerId) -> Option<&mut Owner> {
        self.by_id.get_mut(&id)
    }

    pub(crate) fn find(&self, kind: OwnerKind, group: u32, bytes: &[u8]) -> Option<OwnerId> {
        self.named(&OwnerName::new(kind, group, bytes))
    }

    fn named(&self, name: &OwnerName) -> Option<OwnerId> {
        self.by_name.get(name).copied()
    }

    fn insert(&mut self, name: OwnerName, now: Duration, charge: Charge) -> OwnerId {
        self.last += 1;
        let id = OwnerId(self.last);
        let name = Arc::new(name);
        self.by_name.insert(Arc::clone(&name), id);
        let owner = Owner {
            name,
            states: BTreeSet::new(),
            nlm_files: BTreeSet::new(),
            waits: Vec::new(),
            seqid: None,
            confirmed: false,
            used: now,
            charge,
        };
        self.by_id.insert(id, owner);
        id
    }

    pub(crate) fn remove(&mut self, id: OwnerId) -> Option<Owner> {
        let owner = self.by_id.remove(&id)?;
        self.by_name.remove(&owner.name);
        Some(owner)
    }

    /// The first owner of a client or host, if any.
    pub(crate) fn first_of(&self, nlm: bool, group: u32) -> Option<OwnerId> {
        let from = OwnerName { nlm, group, kind: OwnerKind::Open, bytes: Box::default() };
        let (name, id) = self.by_name.range(from..).next()?;
        (name.nlm == nlm && name.group == group).then_some(*id)
    }

    /// The next owners of the circular sweep.
    fn next(&mut self, count: usize) -> Vec<OwnerId> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = self.sweep_from.take().map_or(Unbounded, Excluded);
        let batch: Vec<_> = self.by_name.range((from, Unbounded)).take(count).map(|(n, id)| (n.clone(), *id)).collect();
        self.sweep_from = (batch.len() == count).then(|| batch.last().map(|(name, _)| name.clone())).flatten();
        batch.into_iter().map(|(_, id)| id).collect()
    }
}

impl Core {
    /// The owner of this name; created if there is none.
    pub(crate) fn owner(
        &mut self,
        now: Duration,
        kind: OwnerKind,
        group: u32,
        bytes: &[u8],
    ) -> Result<OwnerId, StateError> {
        if bytes.len() > NAME_MAX_BYTES {
            return Err(StateError::Inval);
        }
        let name = OwnerName::new(kind, group, bytes);
        if let Some(id) = self.owners.named(&name) {
            if let Some(owner) = self.owners.get_mut(id) {
                owner.used = now;
            }
            return Ok(id);
        }
        let account = match kind {
            OwnerKind::Nlm => self.nlm.account(group).ok_or(StateError::Resource)?,
            OwnerKind::Open | OwnerKind::Lock => self.account_of(group)?,
        };
        let charge = account.take(Kind::Owner)?;
        Ok(self.owners.insert(name, now, charge))
    }

    /// Removes an owner without state. An NFSv4.0 owner stays for a while, since its last reply may have to be replayed
    /// (RFC 7530 §9.1.9).
    pub(crate) fn release_owner(&mut self, id: OwnerId) {
        if self.owners.get(id).is_some_and(|owner| is_idle(owner) && owner.seqid.is_none()) {
            self.owners.remove(id);
        }
    }

    /// Removes some NFSv4.0 owners that had no state for the length of a lease.
    pub(crate) fn sweep_owners(&mut self, now: Duration) {
        let lease = self.limits().lease;
        for id in self.owners.next(self.limits().steps) {
            let Some(owner) = self.owners.get(id) else { continue };
            // Any other owner keeps its last reply, and the closed open through which a retransmitted CLOSE finds it.
            let busy = owner.seqid.as_ref().is_some_and(|seqid| seqid.is_busy());
            if busy || !is_idle(owner) || owner.used + lease >= now {
                continue;
            }
            if let Some(closed) = owner.seqid.as_ref().and_then(|seqid| seqid.closed) {
                self.remove_state(now, closed);
            }
            self.owners.remove(id);
        }
    }
}

fn is_idle(owner: &Owner) -> bool {
    owner.states.is_empty() && owner.nlm_files.is_empty() && owner.waits.is_empty()
}
