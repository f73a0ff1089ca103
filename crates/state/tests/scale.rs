//! Many clients with many opens: bounded memory, and ends that stall nobody. A program of its own, since it counts the
//! memory of the process.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use peak_alloc::PeakAlloc;
use state::*;
use testing::world::*;

const CLIENTS: u64 = 1_000;
const OPENS_PER_CLIENT: u64 = 100;
/// More than this for one open, with its file, is a waste.
const MAX_BYTES_PER_OPEN: u64 = 1_000;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Held by tests while they take memory, and alone by the one that measures that of the process.
static ALONE: RwLock<()> = RwLock::new(());

fn beside_others() -> RwLockReadGuard<'static, ()> {
    ALONE.read().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn hundred_thousand_opens_of_a_thousand_clients_are_held_in_bounded_memory() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let mut world = World::new();
    let clients: Vec<Client> = (0..CLIENTS).map(|number| world.client(&format!("client {number}"))).collect();
    let before = MEMORY.current_usage();
    for (number, client) in (0..).zip(&clients) {
        for file in 0..OPENS_PER_CLIENT {
            world.open_rw(client.id, "the only owner", number * OPENS_PER_CLIENT + file);
        }
    }
    assert_eq!(world.state.census().opens, (CLIENTS * OPENS_PER_CLIENT) as usize);
    let bytes_per_open = (MEMORY.current_usage() - before) as u64 / (CLIENTS * OPENS_PER_CLIENT);
    println!("{bytes_per_open} bytes per open, each of another file");
    assert!(bytes_per_open < MAX_BYTES_PER_OPEN);
    // All but one fall silent for longer than courtesy lasts; the one works on while they are removed.
    world.sleep(25 * 3600);
    world.flags(clients[0], 1);
    let mut ticks = 0;
    while world.state.tick(world.now) {
        ticks += 1;
        world.open_rw(clients[0].id, "the only owner", 7 * CLIENTS + ticks % 10);
    }
    assert!(ticks as usize >= 99_900 / world.state.limits().steps, "it took {ticks} steps");
    assert_eq!(world.state.census().clients, 1);
    assert_eq!(world.state.census().opens, (OPENS_PER_CLIENT + 10) as usize);
}

#[test]
fn no_open_looks_at_all_others_of_its_file() {
    let _others = beside_others();
    // Each OPEN and CLOSE that did would make this take minutes.
    const OPENS: u64 = 100_000;
    let world = World::new();
    let (crowd, other) = (world.client("crowd"), world.client("other"));
    let open = |client: Client, owner: &str, access, deny| world.open(client.id, owner, 1, (access, deny));
    let make = |owner| open(crowd, &format!("o{owner}"), ShareAccess::READ, ShareDeny::NONE).unwrap().stateid;
    let opens: Vec<Stateid> = (0..OPENS).map(make).collect();
    let denying = open(crowd, "denying", ShareAccess::READ, ShareDeny::WRITE).unwrap().stateid;
    for _ in 0..OPENS {
        assert_eq!(open(other, "w", ShareAccess::WRITE, ShareDeny::NONE), Err(StateError::ShareDenied));
    }
    let close =
        |stateid: &Stateid| world.state.close(world.now, StateidScope::V41(crowd.id), stateid, &key(1)).unwrap();
    close(&denying);
    assert!(open(other, "w", ShareAccess::WRITE, ShareDeny::NONE).is_ok());
    for stateid in &opens {
        close(stateid);
    }
    assert_eq!(world.state.census().opens, 1);
}

#[test]
fn locks_of_a_client_that_is_gone_are_removed_step_by_step() {
    let _others = beside_others();
    const LOCKS: u64 = 10_000;
    let mut world = World::new();
    let client = world.client("gone");
    let open = world.open_rw(client.id, "o", 1);
    let mut lock = world.lock_new(client.id, &open, "l", write_lock(1, 0, 1)).unwrap();
    for at in 1..LOCKS {
        lock = world.lock_more(client.id, &lock, write_lock(1, 10 * at, 1)).unwrap();
    }
    let witness = world.client("witness");
    let own = world.open_rw(witness.id, "o", 1);
    world.sleep(25 * 3600);
    world.flags(witness, 1);
    let (mut before, mut more) = (world.state.census().locks, true);
    assert_eq!(before, LOCKS as usize);
    while more {
        more = world.state.tick(world.now);
        let locks = world.state.census().locks;
        assert!(before - locks <= world.state.limits().steps, "{} locks were removed at once", before - locks);
        before = locks;
        let wanted = write_lock(1, 10 * (LOCKS - 1), 1);
        assert!(world.lock_new(witness.id, &own, "w", wanted).is_ok(), "what is left is in nobody's way");
        assert!(before - world.state.census().locks <= 1, "only the lock in the way is removed");
        before = world.state.census().locks;
    }
    let census = world.state.census();
    assert_eq!((census.locks, census.lock_states, census.opens, census.files), (1, 1, 1, 1));
}

#[test]
fn locks_of_a_host_that_is_gone_are_removed_step_by_step_and_are_in_nobodys_way() {
    let _others = beside_others();
    const LOCKS: u64 = 5_000;
    let world = World::new();
    let lock = |name: &'static str, file, at: u64, mode| {
        let range = ByteRange::nlm(10 * at, 1).unwrap();
        let (host, origin) = (name.as_bytes(), origin(9));
        let lock = NlmLock { host, origin, owner: b"p", file: key(file), range, exclusive: true };
        world.state.nlm_lock(world.now, &lock, mode)
    };
    for at in 0..LOCKS {
        assert_eq!(lock("gone", 1, at, NlmMode::Now), Ok(NlmOutcome::Granted));
        assert_eq!(lock("gone", 2 + at, 0, NlmMode::Now), Ok(NlmOutcome::Granted));
    }
    let share = NlmShareArgs {
        host: b"gone",
        origin: origin(9),
        owner: b"p",
        file: key(2),
        access: Some(ShareAccess::BOTH),
        deny: ShareDeny::BOTH,
        reclaim: false,
    };
    world.state.nlm_share(world.now, &share).unwrap();
    assert_eq!(lock("waits", 2 + LOCKS - 1, 0, NlmMode::Wait(b"")), Ok(NlmOutcome::Blocked));
    let mut before = world.state.census().locks;
    assert_eq!(world.state.nlm_free_hosts(world.now, |host| host == b"gone"), 1);
    let steps = world.state.limits().steps;
    assert!(before - world.state.census().locks <= steps, "{} locks are left", world.state.census().locks);
    assert_eq!(lock("other", 2 + LOCKS - 2, 0, NlmMode::Now), Ok(NlmOutcome::Granted));
    assert_eq!(lock("gone", 1, LOCKS - 1, NlmMode::Now), Ok(NlmOutcome::Granted), "it is back already");
    let share = NlmShareArgs { host: b"other", ..share };
    assert_eq!(world.state.nlm_share(world.now, &share), Ok(()));
    before = world.state.census().locks;
    while world.state.tick(world.now) {
        let locks = world.state.census().locks;
        assert!(before - locks <= steps, "{} locks were removed at once", before - locks);
        before = locks;
    }
    let census = world.state.census();
    assert_eq!((census.locks, census.removing, world.events().len()), (3, 0, 1), "who waited has its lock");
}

#[test]
fn threads_do_not_disturb_each_other() {
    let _others = beside_others();
    let world = World::new();
    let clients: Vec<Client> = (0..4).map(|number| world.client(&format!("client {number}"))).collect();
    std::thread::scope(|scope| {
        for (number, client) in (0..).zip(&clients) {
            let world = &world;
            scope.spawn(move || {
                for sequence in 1..=500 {
                    let Sequenced::Execute(turn, _) = world.sequence(*client, 0, sequence).unwrap() else { panic!() };
                    let open = world.open_rw(client.id, "o", number * 10);
                    assert_eq!(world.io(client.id, &open, number * 10, IoKind::Write), Ok(()));
                    let lock = world.lock_new(client.id, &open, "l", write_lock(number * 10, 0, 10)).unwrap();
                    assert_eq!(world.io(client.id, &lock, number * 10, IoKind::Read), Ok(()));
                    world.state.close(world.now, StateidScope::V41(client.id), &open, &key(number * 10)).unwrap();
                    turn.finish(b"done");
                    world.state.tick(world.now);
                }
            });
        }
    });
    let census = world.state.census();
    assert_eq!((census.opens, census.locks, census.files, census.owners), (0, 0, 0, 0));
}
