//! Files that the server delegated to this client (RFC 8881 §10.2, §10.4). Nobody else changes such a file before the
//! delegation is recalled, so the cache needs no revalidation and opens need no request.
//!
//! A delegation is not relied on from the moment that somebody decides to return it. Files opened under it are opened
//! at the server before it is returned.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use client_calls::Principal;
use proto::nfs4::{DelegationType, SHARE_ACCESS_READ, Stateid};

use super::opening::Target;
use crate::Handle;
use crate::cache::Order;

/// The most delegations held at once; the least recently used is returned for a new one.
const MAX_DELEGATIONS: usize = 4096;
/// The next open must ask the server: a bit that OPEN's access does not use.
const MUST_ASK: u32 = 1 << 31;

/// What a delegation allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Nobody else writes meanwhile.
    Read,
    /// Nobody else reads or writes meanwhile.
    Write,
}

impl Kind {
    /// The kind as a claim encodes it.
    pub(super) fn wire(self) -> DelegationType {
        match self {
            Kind::Read => DelegationType::Read,
            Kind::Write => DelegationType::Write,
        }
    }
}

/// All delegations of a client.
#[derive(Debug)]
pub(super) struct Delegations {
    clock: fn() -> Instant,
    table: Mutex<Table>,
    /// The number of delegations, so that lookups need no lock when there are none.
    count: AtomicUsize,
}

#[derive(Debug)]
struct Table {
    held: Order<Handle, Arc<Delegation>>,
    /// The names by which files were found. Each resolves to its file while the delegation is held (RFC 8881 §10.4.4).
    names: HashMap<(Handle, Vec<u8>), Handle>,
    /// When the lease may expire. Afterwards the server may have revoked the delegations.
    lease_until: Instant,
}

/// A delegation that an OPEN granted.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) kind: Kind,
    pub(super) stateid: Stateid,
    /// The user who opened the file.
    pub(super) user: Arc<Principal>,
    /// The access that the server allowed.
    pub(super) access: u32,
    /// The file's change attribute at that time.
    pub(super) change: u64,
}

/// One delegation.
#[derive(Debug)]
pub(super) struct Delegation {
    pub(super) handle: Handle,
    pub(super) kind: Kind,
    pub(super) stateid: Stateid,
    /// The user who opened the file; the server may refuse others.
    pub(super) user: Arc<Principal>,
    /// The file's change attribute when it was delegated.
    pub(super) change: u64,
    /// The directory and the name by which it was found.
    name: Option<(Handle, Vec<u8>)>,
    /// The access that the server allowed, and [`MUST_ASK`] after a change that may affect it.
    allowed: AtomicU32,
    /// Whether it was used since the last call of [`Delegations::unused`].
    is_used: AtomicBool,
}

impl Delegation {
    fn allows(&self, access: u32) -> bool {
        let allowed = self.allowed.load(Ordering::Relaxed);
        let is_meant = self.kind == Kind::Write || access == SHARE_ACCESS_READ;
        is_meant && allowed & MUST_ASK == 0 && access & !allowed == 0
    }
}

impl Delegations {
    /// None yet. `clock` tells the time.
    pub(super) fn new(clock: fn() -> Instant) -> Delegations {
        let table = Table { held: Order::default(), names: HashMap::new(), lease_until: clock() };
        Delegations { clock, table: Mutex::new(table), count: AtomicUsize::new(0) }
    }

    /// Adds a delegation from an OPEN. Returns the ones to give back: an earlier one of the file, and the least
    /// recently used if there are too many.
    pub(super) fn grant(&self, grant: &Grant, file: &Handle, target: Option<&Target>) -> Vec<Arc<Delegation>> {
        let name = match target {
            Some(Target::Name { dir, name }) => Some((*dir, name.clone())),
            Some(Target::File(_)) | None => None,
        };
        let delegation = Delegation {
            handle: *file,
            kind: grant.kind,
            stateid: grant.stateid,
            user: Arc::clone(&grant.user),
            change: grant.change,
            name: name.clone(),
            allowed: AtomicU32::new(grant.access),
            is_used: AtomicBool::new(true),
        };
        let mut table = self.lock();
        let earlier = table.held.insert(*file, Arc::new(delegation));
        table.unname(earlier.as_deref());
        table.names.extend(name.map(|name| (name, *file)));
        let excess = if table.held.len() > MAX_DELEGATIONS { table.pop() } else { None };
        self.count.store(table.held.len(), Ordering::Relaxed);
        let replaced = earlier.filter(|earlier| earlier.stateid.other != grant.stateid.other);
        replaced.into_iter().chain(excess).collect()
    }

    /// The delegation of a file, while the lease lasts.
    pub(super) fn held(&self, file: &Handle) -> Option<Arc<Delegation>> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut table = self.lock();
        if (self.clock)() >= table.lease_until {
            return None;
        }
        let delegation = table.held.get(file)?;
        delegation.is_used.store(true, Ordering::Relaxed);
        Some(Arc::clone(delegation))
    }

    /// The write delegation of a file. The server may ask about it until it is returned, so the lease does not matter.
    pub(super) fn for_writing(&self, file: &Handle) -> Option<Arc<Delegation>> {
        self.lock().held.get(file).filter(|delegation| delegation.kind == Kind::Write).cloned()
    }

    /// The delegation under which a file can be opened for `access` without asking the server.
    pub(super) fn to_open(&self, target: &Target, access: u32) -> Option<Arc<Delegation>> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let file = match target {
            Target::File(file) => *file,
            Target::Name { dir, name } => self.named(dir, name)?,
        };
        self.held(&file).filter(|delegation| delegation.allows(access))
    }

    fn named(&self, dir: &Handle, name: &[u8]) -> Option<Handle> {
        self.lock().names.get(&(*dir, name.to_vec())).copied()
    }

    /// Drops a name because this client is about to change what it resolves to, or has done so.
    fn forget_name(&self, dir: &Handle, name: &[u8]) {
        if self.count.load(Ordering::Relaxed) > 0 {
            self.lock().names.remove(&(*dir, name.to_vec()));
        }
    }

    /// Adds access that the server allowed a user.
    pub(super) fn allow(&self, file: &Handle, user: &Arc<Principal>, access: u32) {
        if let Some(delegation) = self.held(file).filter(|delegation| delegation.user == *user) {
            delegation.allowed.fetch_or(access, Ordering::Relaxed);
        }
    }

    /// Makes the next open ask the server, because this client may have changed who may open the file.
    pub(super) fn ask_before_opening(&self, file: &Handle) {
        if self.count.load(Ordering::Relaxed) > 0
            && let Some(delegation) = self.lock().held.get(file)
        {
            delegation.allowed.fetch_or(MUST_ASK, Ordering::Relaxed);
        }
    }

    /// Removes the delegation of this stateid, to be returned; from now on nobody relies on it.
    pub(super) fn take(&self, file: &Handle, stateid: Stateid) -> Option<Arc<Delegation>> {
        let mut table = self.lock();
        // A recall may name another seqid of the stateid.
        let is_it = table.held.get(file).is_some_and(|held| held.stateid.other == stateid.other);
        let taken = if is_it { table.held.remove(file) } else { None };
        table.unname(taken.as_deref());
        self.count.store(table.held.len(), Ordering::Relaxed);
        taken
    }

    /// Whether this very delegation is still held.
    pub(super) fn is_held(&self, delegation: &Arc<Delegation>) -> bool {
        self.lock().held.get(&delegation.handle).is_some_and(|held| Arc::ptr_eq(held, delegation))
    }

    /// Removes all delegations.
    pub(super) fn take_all(&self) -> Vec<Arc<Delegation>> {
        let mut table = self.lock();
        let all = std::iter::from_fn(|| table.pop()).collect();
        self.count.store(0, Ordering::Relaxed);
        all
    }

    /// Removes the least recently used delegations of these kinds, until at most `keep` are left.
    pub(super) fn take_excess(&self, keep: usize, kinds: &[Kind]) -> Vec<Arc<Delegation>> {
        let all = self.all();
        let concerned: Vec<_> = all.into_iter().filter(|delegation| kinds.contains(&delegation.kind)).collect();
        let excess = concerned.len().saturating_sub(keep);
        concerned.into_iter().take(excess).filter_map(|one| self.take(&one.handle, one.stateid)).collect()
    }

    /// The delegations that nobody used since the last call.
    pub(super) fn unused(&self) -> Vec<Arc<Delegation>> {
        self.all().into_iter().filter(|delegation| !delegation.is_used.swap(false, Ordering::Relaxed)).collect()
    }

    /// All delegations, least recently used first.
    pub(super) fn all(&self) -> Vec<Arc<Delegation>> {
        self.lock().held.iter().map(|(_, delegation)| Arc::clone(delegation)).collect()
    }

    /// Extends the lease: the server received a request at `heard` or later.
    pub(super) fn renewed(&self, heard: Instant, lease: Duration) {
        self.lock().lease_until = heard + lease;
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A change by this client of what a name resolves to, from before its request until after its reply.
pub(super) struct NameChange<'a> {
    delegations: &'a Delegations,
    name: (&'a Handle, &'a [u8]),
}

impl<'a> NameChange<'a> {
    pub(super) fn new(delegations: &'a Delegations, dir: &'a Handle, name: &'a [u8]) -> NameChange<'a> {
        delegations.forget_name(dir, name);
        NameChange { delegations, name: (dir, name) }
    }
}

impl Drop for NameChange<'_> {
    /// An OPEN by that name may have run before the change.
    fn drop(&mut self) {
        self.delegations.forget_name(self.name.0, self.name.1);
    }
}

impl Table {
    /// Removes the least recently used delegation.
    fn pop(&mut self) -> Option<Arc<Delegation>> {
        let (_, delegation) = self.held.pop_oldest()?;
        self.unname(Some(&delegation));
        Some(delegation)
    }

    /// Drops the name of a removed delegation, unless it resolves to another file by now.
    fn unname(&mut self, gone: Option<&Delegation>) {
        let Some(Delegation { handle, name: Some(name), .. }) = gone else { return };
        if self.names.get(name) == Some(handle) {
            self.names.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Credentials;
    use proto::nfs4::{SHARE_ACCESS_BOTH, SHARE_ACCESS_WRITE};

    const LEASE: Duration = Duration::from_secs(90);

    fn handle(number: u32) -> Handle {
        Handle::new(&number.to_be_bytes()).unwrap()
    }

    fn stateid(number: u32) -> Stateid {
        let mut other = [0; 12];
        other[..4].copy_from_slice(&number.to_be_bytes());
        Stateid { seqid: 1, other }
    }

    fn target(name: &[u8]) -> Target {
        Target::Name { dir: handle(0), name: name.to_vec() }
    }

    fn grant(number: u32) -> Grant {
        let user = Principal::new(&Credentials::None);
        Grant { kind: Kind::Read, stateid: stateid(number), user, access: SHARE_ACCESS_READ, change: 0 }
    }

    fn granted() -> Delegations {
        let delegations = Delegations::new(Instant::now);
        delegations.renewed(Instant::now(), LEASE);
        assert!(delegations.grant(&grant(1), &handle(1), Some(&target(b"one"))).is_empty());
        delegations
    }

    #[test]
    fn file_is_opened_by_its_name_and_by_its_handle_until_somebody_changes_what_counts() {
        let delegations = granted();
        assert!(delegations.to_open(&target(b"one"), SHARE_ACCESS_READ).is_some());
        assert!(delegations.to_open(&target(b"other"), SHARE_ACCESS_READ).is_none());
        delegations.forget_name(&handle(0), b"one");
        assert!(delegations.to_open(&target(b"one"), SHARE_ACCESS_READ).is_none());
        assert!(delegations.to_open(&Target::File(handle(1)), SHARE_ACCESS_READ).is_some());
        delegations.ask_before_opening(&handle(1));
        assert!(delegations.to_open(&Target::File(handle(1)), SHARE_ACCESS_READ).is_none());
        assert!(delegations.held(&handle(1)).is_some());
    }

    #[test]
    fn nothing_is_believed_when_the_lease_may_be_over() {
        let delegations = granted();
        delegations.renewed(Instant::now(), Duration::ZERO);
        assert!(delegations.held(&handle(1)).is_none());
        delegations.renewed(Instant::now(), LEASE);
        assert!(delegations.held(&handle(1)).is_some());
    }

    #[test]
    fn recall_of_another_delegation_takes_none() {
        let delegations = granted();
        assert!(delegations.take(&handle(1), stateid(2)).is_none());
        assert!(delegations.take(&handle(1), Stateid { seqid: 7, ..stateid(1) }).is_some());
        assert!(delegations.to_open(&target(b"one"), SHARE_ACCESS_READ).is_none());
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let delegations = granted();
        (2..=4).for_each(|number| drop(delegations.grant(&grant(number), &handle(number), None)));
        delegations.held(&handle(2));
        let taken: Vec<Handle> = delegations.take_excess(2, &[Kind::Read]).iter().map(|one| one.handle).collect();
        assert_eq!(taken, [handle(1), handle(3)]);
        assert!(delegations.take_excess(0, &[Kind::Write]).is_empty());
        for number in 10..10 + MAX_DELEGATIONS as u32 - 2 {
            assert!(delegations.grant(&grant(number), &handle(number), None).is_empty());
        }
        let one_more = delegations.grant(&grant(9), &handle(9), None);
        assert_eq!(one_more.iter().map(|one| one.handle).collect::<Vec<_>>(), [handle(4)]);
    }

    #[test]
    fn file_is_opened_for_what_the_server_let_it_be_opened_for_and_an_earlier_delegation_goes_back() {
        let delegations = granted();
        let file = Target::File(handle(1));
        assert!(delegations.to_open(&file, SHARE_ACCESS_READ).is_some());
        assert!(delegations.to_open(&file, SHARE_ACCESS_BOTH).is_none());
        assert!(delegations.for_writing(&handle(1)).is_none());
        let write = Grant { kind: Kind::Write, access: SHARE_ACCESS_BOTH, ..grant(2) };
        let replaced = delegations.grant(&write, &handle(1), None);
        assert_eq!(replaced.iter().map(|one| one.stateid).collect::<Vec<_>>(), [stateid(1)]);
        assert!(delegations.to_open(&file, SHARE_ACCESS_BOTH).is_some());
        delegations.grant(&Grant { access: SHARE_ACCESS_WRITE, ..write.clone() }, &handle(1), None);
        assert!(delegations.to_open(&file, SHARE_ACCESS_READ).is_none());
        let other = Credentials::Sys { uid: 1, gid: 1, groups: Vec::new() };
        delegations.allow(&handle(1), &Principal::new(&other), SHARE_ACCESS_READ);
        assert!(delegations.to_open(&file, SHARE_ACCESS_READ).is_none(), "that was for somebody else");
        delegations.allow(&handle(1), &write.user, SHARE_ACCESS_READ);
        assert!(delegations.to_open(&file, SHARE_ACCESS_BOTH).is_some());
        delegations.ask_before_opening(&handle(1));
        delegations.allow(&handle(1), &write.user, SHARE_ACCESS_BOTH);
        assert!(delegations.to_open(&file, SHARE_ACCESS_READ).is_none(), "the answer may be older than the change");
        assert!(delegations.for_writing(&handle(1)).is_some());
        assert!(delegations.grant(&write, &handle(1), None).is_empty(), "it is the same one");
    }
}
