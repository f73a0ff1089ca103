//! One host that asks for very much, and others that want to get in.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod world;

use state::*;
use world::*;

/// Small enough to be filled in no time; an origin may have a quarter of each.
fn small() -> World {
    World::with(Limits { clients: 400, unconfirmed_per_origin: 50, sessions: 400, slots: 1600, ..Limits::default() })
}

fn origin(host: u8) -> Origin {
    Origin::of([192, 0, 2, host].into())
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
