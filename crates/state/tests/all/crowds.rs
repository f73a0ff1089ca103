//! One host that asks for very much, and others that want to get in.

use state::*;

use testing::world::*;

/// Small enough to be filled in no time; an origin may have a quarter of each.
fn small() -> World {
    World::with(Limits { clients: 400, unconfirmed_per_origin: 50, sessions: 400, slots: 1600, ..Limits::default() })
}

fn exchange_from(world: &World, host: u8, owner: &str) -> Result<ExchangedId, StateError> {
    let args = ExchangeIdArgs { origin: origin(host), ..exchange_args(owner, 1, "alice", false) };
    world.state.exchange_id(world.now, &args)
}

fn set_from(world: &World, host: u8, name: &str) -> Result<(ClientId, [u8; 8]), StateError> {
    let args = SetClientIdArgs { origin: origin(host), ..set_client_id_args(name, 1, "alice") };
    world.state.setclientid(world.now, &args)
}

/// A client with a session from a host.
fn join(world: &World, host: u8, owner: &str) -> Result<Client, StateError> {
    let id = exchange_from(world, host, owner)?;
    let session = world.create_session(id.client, id.sequence)?.session;
    world.state.reclaim_complete(world.now, id.client, false)?;
    Ok(Client { id: id.client, session })
}

/// A client of each version gets in from another host, opens a file, and is still there.
fn witness_gets_in(world: &World, flood: impl Fn(u32)) {
    let v41 = exchange_from(world, 200, "witness").unwrap();
    let (v40, confirm) = set_from(world, 201, "witness").unwrap();
    (0..2000).for_each(&flood);
    let session = world.create_session(v41.client, v41.sequence).unwrap().session;
    world.state.reclaim_complete(world.now, v41.client, false).unwrap();
    world.open_rw(v41.client, "o", 7);
    world.state.setclientid_confirm(world.now, v40, confirm, &Principal::new(b"alice")).unwrap();
    world.open_rw(v40, "o", 8);
    (2000..4000).for_each(flood);
    assert!(world.sequence(Client { id: v41.client, session }, 0, 1).is_ok());
    world.state.renew(world.now, v40).unwrap();
}

#[test]
fn flood_of_exchange_ids_costs_its_origin_its_own_ids() {
    let world = small();
    witness_gets_in(&world, |number| {
        exchange_from(&world, 66, &format!("flood {number}")).unwrap();
    });
    assert_eq!(world.state.census().clients, 50 + 2);
}

#[test]
fn flood_of_setclientids_costs_its_origin_its_own_ids() {
    let world = small();
    witness_gets_in(&world, |number| {
        set_from(&world, 66, &format!("flood {number}")).unwrap();
    });
    assert_eq!(world.state.census().clients, 50 + 2);
}

#[test]
fn flood_from_very_many_origins_costs_the_largest_ones_their_ids() {
    let world = small();
    witness_gets_in(&world, |number| {
        exchange_from(&world, 10 + (number % 20) as u8, &format!("flood {number}")).unwrap();
    });
    assert_eq!(world.state.census().clients, 400);
}

#[test]
fn flood_of_clients_with_sessions_that_hold_nothing_costs_its_origin_its_own_clients() {
    let world = small();
    witness_gets_in(&world, |number| {
        join(&world, 66, &format!("flood {number}")).unwrap();
    });
    assert_eq!(world.state.census().clients, 100 + 2);
}

#[test]
fn clients_that_hold_something_are_limited_to_the_share_of_their_origin_and_are_not_dropped() {
    let world = small();
    let mut joined = Vec::new();
    for number in 0..200 {
        match join(&world, 66, &format!("holder {number}")) {
            Ok(client) => joined.push((client, world.open_rw(client.id, "o", number))),
            Err(error) => assert_eq!(error, StateError::Delay),
        }
    }
    assert_eq!(joined.len(), 100);
    for (number, (client, open)) in joined.iter().enumerate() {
        assert_eq!(world.io(client.id, open, number as u64, IoKind::Read), Ok(()));
    }
    assert!(join(&world, 67, "witness").is_ok());
}

#[test]
fn sessions_of_one_origin_leave_sessions_and_slots_to_others() {
    let world = small();
    let mut sessions = 0;
    for number in 0..10 {
        let client = exchange_from(&world, 66, &format!("c{number}")).unwrap();
        let created = (1..=60).take_while(|sequence| world.create_session(client.client, *sequence).is_ok()).count();
        sessions += created;
    }
    assert_eq!(sessions, 100);
    let other = exchange_from(&world, 67, "witness").unwrap();
    let created = world.create_session(other.client, other.sequence).unwrap();
    assert_eq!(created.fore.max_requests, channel().max_requests, "it gets all the slots that it wants");
}

#[test]
fn replies_that_are_kept_for_one_origin_leave_memory_to_others() {
    let kept = channel().max_response_cached_bytes as usize;
    let world = World::with(Limits { reply_cache_bytes: 80 * kept, ..Limits::default() });
    let slots = |host, owner: &str| {
        let client = exchange_from(&world, host, owner).unwrap();
        world.create_session(client.client, client.sequence).unwrap().fore.max_requests
    };
    let owners: Vec<String> = (0..6).map(|number| format!("c{number}")).collect();
    let granted: Vec<u32> = owners.iter().map(|owner| slots(66, owner)).collect();
    assert_eq!(granted, [8, 8, 4, 1, 1, 1]);
    assert_eq!(slots(67, "witness"), 8);
}

#[test]
fn sessions_that_end_make_room_for_others_of_their_origin() {
    let world = small();
    for number in 0..500 {
        let client = join(&world, 66, &format!("c{number}")).unwrap();
        world.state.destroy_session(&client.session, 1).unwrap();
        world.state.destroy_clientid(client.id).unwrap();
    }
    let client = join(&world, 66, "last").unwrap();
    assert_eq!(world.state.session(&client.session).unwrap().fore().max_requests, channel().max_requests);
    assert_eq!(world.state.census().clients, 1);
}

/// Few enough of everything to be used up in no time.
fn scarce() -> World {
    World::with(Limits {
        opens: 600,
        owners: 900,
        lock_states: 600,
        locks: 600,
        delegations: 600,
        waiters: 600,
        nlm_hosts: 600,
        nlm_shares: 600,
        ..Limits::default()
    })
}

/// How many of `attempts` succeed before one is refused for lack of room.
fn until_refused(attempts: impl Iterator<Item = Result<(), StateError>>) -> usize {
    let mut attempts = attempts.take(2_000);
    let granted = attempts.by_ref().take_while(Result::is_ok).count();
    assert_eq!(attempts.next(), Some(Err(StateError::Resource)));
    granted
}

fn open_from(world: &World, client: Client, owner: &str, file: u64) -> Result<(), StateError> {
    world.open(client.id, owner, file, BOTH).map(drop)
}

#[test]
fn clients_whose_leases_are_over_keep_no_room_of_their_origin() {
    let mut world = scarce();
    let dead = join(&world, 66, "dead").unwrap();
    let theirs = world.open_rw(dead.id, "o", 1);
    until_refused((0..).map(|number| {
        let owner = format!("owner {number}");
        world.lock_new(dead.id, &theirs, &owner, read_lock(1, number, 1)).map(drop)
    }));
    until_refused((1..).map(|file| open_from(&world, dead, "o", file)));
    let alive = join(&world, 66, "alive").unwrap();
    let lock = nlm_from(66, "host", 1, 5_000_000);
    assert_eq!(open_from(&world, alive, "o", 1), Err(StateError::Resource), "the lease is not over");
    assert_eq!(world.state.nlm_lock(world.now, &lock, NlmMode::Now), Err(StateError::Resource));
    world.sleep(Limits::default().lease.as_secs() + 1);
    assert_eq!(world.state.nlm_lock(world.now, &lock, NlmMode::Now), Ok(NlmOutcome::Granted));
    let new = join(&world, 66, "new").unwrap();
    assert_eq!(open_from(&world, new, "o", 1), Ok(()));
}

#[test]
fn opens_of_one_origin_leave_opens_to_others() {
    let world = scarce();
    let (hostile, other) = (join(&world, 66, "hostile").unwrap(), join(&world, 66, "another of it").unwrap());
    let opened = until_refused((0..).map(|file| open_from(&world, hostile, "o", file)));
    assert_eq!((opened, open_from(&world, other, "o", 1)), (300, Err(StateError::Resource)));
    let witness = join(&world, 67, "witness").unwrap();
    (0..100).for_each(|file| open_from(&world, witness, "o", file).unwrap());
    assert_eq!(world.state.may_open(world.now, witness.id, Claim::New), Ok(()));
    assert_eq!(world.state.may_open(world.now, hostile.id, Claim::New), Err(StateError::Resource));
}

#[test]
fn open_owners_of_one_origin_leave_owners_to_others() {
    let world = scarce();
    let hostile = world.client40("hostile", 1);
    let begin = |number| {
        let name = format!("owner {number}");
        let owner = SeqidOwner::OpenOwner { client: hostile, name: name.as_bytes() };
        world.state.seqid_begin(world.now, owner, 1).map(drop)
    };
    assert_eq!(until_refused((0..).map(begin)), 450);
    let witness = join(&world, 67, "witness").unwrap();
    (0..50).for_each(|file| open_from(&world, witness, &format!("owner {file}"), file).unwrap());
}

#[test]
fn lock_owners_and_locks_of_one_origin_leave_some_to_others() {
    let world = scarce();
    let (hostile, witness) = (join(&world, 66, "hostile").unwrap(), join(&world, 67, "witness").unwrap());
    let (theirs, own) = (world.open_rw(hostile.id, "o", 1), world.open_rw(witness.id, "o", 1));
    let lock = |number: u64| {
        let wanted = read_lock(1, 10 * number, 1);
        world.lock_new(hostile.id, &theirs, &format!("owner {number}"), wanted).map(drop)
    };
    assert_eq!(until_refused((0..).map(lock)), 300);
    for number in 0..50 {
        world.lock_new(witness.id, &own, &format!("owner {number}"), read_lock(1, 10 * number, 1)).unwrap();
    }
}

#[test]
fn ranges_of_one_lock_owner_leave_ranges_to_others() {
    let world = scarce();
    let (hostile, witness) = (join(&world, 66, "hostile").unwrap(), join(&world, 67, "witness").unwrap());
    let (theirs, own) = (world.open_rw(hostile.id, "o", 1), world.open_rw(witness.id, "o", 2));
    let mut lock = world.lock_new(hostile.id, &theirs, "l", write_lock(1, 0, 1)).unwrap();
    let more = |number: u64| {
        lock = world.lock_more(hostile.id, &lock, write_lock(1, 10 * number, 1))?;
        Ok(())
    };
    assert_eq!(1 + until_refused((1..).map(more)), 300);
    let lock = world.lock_new(witness.id, &own, "l", write_lock(2, 0, 1_000)).unwrap();
    let hole = ByteRange::nfs4(10, 1).unwrap();
    assert!(world.state.unlock(world.now, StateidScope::V41(witness.id).of(&lock), &key(2), hole).is_ok());
}

#[test]
fn delegations_of_one_origin_leave_delegations_to_others() {
    let world = scarce();
    let (hostile, witness) = (join(&world, 66, "hostile").unwrap(), join(&world, 67, "witness").unwrap());
    let open = |client: Client, file| {
        let args = OpenArgs { want: DelegationWant::Any, ..open_args(client.id, "o", file, READ) };
        world.state.open(world.now, &args).map(|opened| opened.delegation)
    };
    let is_given = |answer| matches!(answer, Ok(DelegationAnswer::Granted { .. }));
    for file in 0..300 {
        assert!(is_given(open(hostile, file)));
        world
            .state
            .close(world.now, StateidScope::V41(hostile.id), &world.open_rw(hostile.id, "o", file), &key(file))
            .unwrap();
    }
    assert_eq!(open(hostile, 1_000), Ok(DelegationAnswer::Refused(WhyNoDelegation::Resource)));
    assert!((2_000..2_050).all(|file| is_given(open(witness, file))));
}

fn nlm_from<'a>(host: u8, name: &'a str, file: u64, at: u64) -> NlmLock<'a> {
    let range = ByteRange::nlm(10 * at, 1).unwrap();
    NlmLock { host: name.as_bytes(), origin: origin(host), owner: b"p", file: key(file), range, exclusive: true }
}

#[test]
fn waits_of_one_origin_leave_waits_to_others() {
    let world = scarce();
    let lock = |host, name, at: u64, mode| world.state.nlm_lock(world.now, &nlm_from(host, name, at / 500, at), mode);
    (0..600).for_each(|at| _ = lock(65, "holder", at, NlmMode::Now));
    let held = world.state.census().locks as u64;
    let wait = |at| lock(66, "hostile", at % held + at / held, NlmMode::Wait(b"")).map(drop);
    let waits = (0..held).map_while(|at| wait(at).ok()).count();
    assert_eq!(waits, 300);
    (0..50).for_each(|at| assert_eq!(lock(67, "witness", at, NlmMode::Wait(b"")), Ok(NlmOutcome::Blocked)));
}

#[test]
fn hosts_and_locks_of_one_origin_leave_some_to_others() {
    let world = scarce();
    let lock = |host, name: &str, at| world.state.nlm_lock(world.now, &nlm_from(host, name, 1, at), NlmMode::Now);
    assert_eq!(until_refused((0..).map(|at| lock(66, &format!("name {at}"), at).map(drop))), 300);
    (1_000..1_050).for_each(|at| assert_eq!(lock(67, &format!("witness {at}"), at), Ok(NlmOutcome::Granted)));
}

#[test]
fn shares_of_one_origin_leave_shares_to_others() {
    let world = scarce();
    let share = |host, file, deny| {
        let access = Some(ShareAccess::READ);
        let args = NlmShareArgs {
            host: b"h",
            origin: origin(host),
            owner: b"p",
            file: key(file),
            access,
            deny,
            reclaim: false,
        };
        world.state.nlm_share(world.now, &NlmShareArgs { host: &[host], ..args })
    };
    assert_eq!(until_refused((0..).map(|file| share(66, file, ShareDeny::NONE))), 300);
    assert_eq!(share(66, 0, ShareDeny::WRITE), Ok(()), "a share is replaced by another one, which takes no room");
    (1_000..1_050).for_each(|file| assert_eq!(share(67, file, ShareDeny::NONE), Ok(())));
}

#[test]
fn what_an_origin_gives_up_is_free_again() {
    let world = scarce();
    for round in 0..5 {
        let name = format!("client {round}");
        let client = join(&world, 66, &name).unwrap();
        let opened = (0..2_000).take_while(|file| open_from(&world, client, "o", *file).is_ok()).count();
        assert_eq!(opened, 300);
        // The client restarts, and what it had is removed.
        let again = exchange_args(&name, 2, "alice", false);
        let again = world.exchange_as(&ExchangeIdArgs { origin: origin(66), ..again });
        world.create_session(again.client, again.sequence).unwrap();
        world.tick();
    }
}
