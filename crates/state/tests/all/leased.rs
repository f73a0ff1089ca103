//! Delegations of files that local processes may change: each needs a lease of the host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use state::*;
use vfs::FileLease;

use testing::world::*;

/// How long the host of these tests waits for the end of a lease, in seconds.
const BREAK_TIME_S: u64 = 45;

/// The number of leases of each file.
#[derive(Debug, Clone, Default)]
struct Host(Arc<Mutex<HashMap<FileKey, usize>>>);

#[derive(Debug)]
struct Lease(Host, FileKey);

impl FileLease for Lease {}

impl Drop for Lease {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap().entry(self.1).or_default() -= 1;
    }
}

impl HostLeases for Host {
    fn lease(&mut self, file: &FileKey) -> Option<Box<dyn FileLease>> {
        if *file == key(UNLEASED) {
            return None;
        }
        *self.0.lock().unwrap().entry(*file).or_default() += 1;
        Some(Box::new(Lease(self.clone(), *file)))
    }
}

impl Host {
    fn leases(&self, file: u64) -> usize {
        self.0.lock().unwrap().get(&key(file)).copied().unwrap_or_default()
    }
}

/// A file that a local process has open for writing.
const UNLEASED: u64 = 99;

fn world_with(limits: Limits) -> (World, Host) {
    let (world, host) = (World::with(limits), Host::default());
    world.state.use_leases(Box::new(host.clone()));
    (world, host)
}

fn world() -> (World, Host) {
    world_with(Limits::default())
}

fn delegated(world: &World, client: ClientId, file: u64, how: (ShareAccess, ShareDeny)) -> DelegationAnswer {
    let mut args = open_args(client, "o", file, how);
    (args.want, args.leased) = (DelegationWant::Any, true);
    world.state.open(world.now, &args).unwrap().delegation
}

fn granted(answer: DelegationAnswer) -> Stateid {
    match answer {
        DelegationAnswer::Granted { stateid, kind: DelegationKind::Read } => stateid,
        other => panic!("{other:?}"),
    }
}

fn give_back(world: &World, client: ClientId, stateid: &Stateid, file: u64) {
    world.state.delegreturn(world.now, StateidScope::V41(client), stateid, &key(file)).unwrap();
}

fn broken(world: &World, file: u64) {
    world.state.lease_broken(world.now, &key(file), std::time::Duration::from_secs(BREAK_TIME_S));
}

#[test]
fn file_is_delegated_for_reading_while_it_is_leased() {
    let (world, host) = world();
    let (a, b) = (world.client("a").id, world.client("b").id);
    let first = granted(delegated(&world, a, 1, READ));
    let second = granted(delegated(&world, b, 1, READ));
    assert_eq!(host.leases(1), 1, "one lease for all");
    give_back(&world, a, &first, 1);
    assert_eq!(host.leases(1), 1);
    give_back(&world, b, &second, 1);
    assert_eq!(host.leases(1), 0);
}

#[test]
fn file_without_a_lease_is_not_delegated() {
    let (world, _) = world();
    let a = world.client("a").id;
    assert_eq!(delegated(&world, a, UNLEASED, READ), DelegationAnswer::Refused(WhyNoDelegation::Resource));
}

#[test]
fn file_that_is_opened_for_writing_is_not_delegated() {
    let (world, host) = world();
    let a = world.client("a").id;
    assert_eq!(delegated(&world, a, 1, BOTH), DelegationAnswer::Refused(WhyNoDelegation::WriteNotSupported));
    // The server itself would write, by the client's first open.
    assert_eq!(delegated(&world, a, 1, READ), DelegationAnswer::Refused(WhyNoDelegation::Contention));
    assert_eq!(host.leases(1), 0);
}

#[test]
fn own_delegation_is_recalled_before_the_client_writes() {
    let (world, host) = world();
    let a = world.client("a").id;
    let stateid = granted(delegated(&world, a, 1, READ));
    assert_eq!(world.open(a, "another", 1, WRITE), Err(StateError::Delay));
    assert_eq!(world.events().len(), 1);
    let check = world.state.conflict_check(world.now, &key(1), AccessKind::Write, Requester::Client(a));
    assert_eq!(check, Ok(AccessCheck::Wait));
    give_back(&world, a, &stateid, 1);
    assert!(world.open(a, "another", 1, WRITE).is_ok());
    assert_eq!(host.leases(1), 0);
}

#[test]
fn broken_lease_recalls_every_delegation_of_the_file() {
    let (world, _) = world();
    let (a, b) = (world.client("a").id, world.client("b").id);
    let recalled = [a, b].map(|client| (client, granted(delegated(&world, client, 1, READ))));
    granted(delegated(&world, a, 2, READ));
    broken(&world, 1);
    broken(&world, 1);
    let recall =
        |(client, stateid)| Event::Recall(Recall { client, stateid, file: key(1), handle: (*b"handle").into() });
    assert_eq!(world.events(), recalled.map(recall));
    assert_eq!(delegated(&world, b, 1, READ), DelegationAnswer::Refused(WhyNoDelegation::Contention));
}

#[test]
fn delegation_is_revoked_before_the_host_ends_the_lease_by_force() {
    let (mut world, host) = world();
    let a = world.client("a").id;
    let stateid = granted(delegated(&world, a, 1, READ));
    broken(&world, 1);
    world.sleep(BREAK_TIME_S - 10);
    world.tick();
    assert_eq!(host.leases(1), 1);
    world.sleep(8);
    world.tick();
    assert_eq!(host.leases(1), 0);
    assert_eq!(world.io(a, &stateid, 1, IoKind::Read), Err(StateError::DelegRevoked));
}

#[test]
fn broken_lease_shortens_a_recall_that_has_begun() {
    let (mut world, host) = world();
    let (a, b) = (world.client("a").id, world.client("b").id);
    granted(delegated(&world, a, 1, READ));
    assert_eq!(world.open(b, "o", 1, WRITE), Err(StateError::Delay));
    broken(&world, 1);
    world.sleep(BREAK_TIME_S - 2);
    world.tick();
    assert_eq!(host.leases(1), 0);
    let (mut world, host) = self::world();
    let (a, b) = (world.client("a").id, world.client("b").id);
    granted(delegated(&world, a, 1, READ));
    broken(&world, 1);
    assert_eq!(world.open(b, "o", 1, WRITE), Err(StateError::Delay), "and a later one does not extend it");
    world.sleep(BREAK_TIME_S - 2);
    world.tick();
    assert_eq!(host.leases(1), 0);
}

#[test]
fn lease_ends_with_its_client() {
    let (mut world, host) = world();
    let a = world.client("a").id;
    granted(delegated(&world, a, 1, READ));
    world.sleep(100);
    broken(&world, 1);
    assert_eq!(host.leases(1), 0, "a client whose lease is over is not waited for");
}

#[test]
fn delegation_of_before_a_restart_is_not_reclaimed() {
    let (mut world, _) = world();
    let a = world.client("a").id;
    granted(delegated(&world, a, 1, READ));
    world.restart();
    let host = Host::default();
    world.state.use_leases(Box::new(host.clone()));
    let a = world.newcomer("a").id;
    let mut args = open_args(a, "o", 1, READ);
    args.claim = Claim::Previous(Some(DelegationKind::Read));
    args.leased = true;
    assert_eq!(world.state.open(world.now, &args).unwrap().delegation, DelegationAnswer::None);
    assert_eq!(host.leases(1), 0);
}

#[test]
fn limit_of_leases_holds_for_all_files_and_is_shared() {
    let (world, host) = world_with(Limits { leases: 40, ..Limits::default() });
    let a = world.client("a").id;
    let count = (0..90).filter(|file| matches!(delegated(&world, a, *file, READ), DelegationAnswer::Granted { .. }));
    assert_eq!(count.count(), 20, "half of them for one origin");
    assert_eq!((0..90).map(|file| host.leases(file)).sum::<usize>(), 20);
}
