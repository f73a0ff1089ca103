//! EXCHANGE_ID, CREATE_SESSION and their counterparts (RFC 8881 §18.35–37, §18.50).

use state::*;

use testing::world::*;

#[test]
fn repeated_exchange_of_a_confirmed_client_keeps_its_id() {
    // RFC 8881 §18.35.4, case 2.
    let world = World::new();
    let client = world.client("c");
    let again = world.exchange("c", 1, "alice").unwrap();
    assert_eq!((again.client, again.confirmed, again.sequence), (client.id, true, 2));
}

#[test]
fn servers_that_began_at_the_same_moment_have_sessions_of_different_names() {
    // A client finds the session of a callback by the server's address and the session's name; a defect took one for
    // the other.
    let (one, other) = (World::new().client("c"), World::new().client("c"));
    assert_eq!(one.id, other.id);
    assert_ne!(one.session, other.session);
}

#[test]
fn unconfirmed_record_is_replaced_whatever_asks() {
    // RFC 8881 §18.35.4, case 4.
    let world = World::new();
    let mut last = world.exchange("c", 1, "alice").unwrap().client;
    for (verifier, principal) in [(1, "alice"), (1, "bob"), (2, "bob"), (3, "alice")] {
        let next = world.exchange("c", verifier, principal).unwrap();
        assert!(!next.confirmed);
        assert_ne!(next.client, last);
        assert_eq!(world.create_session(last, 1), Err(StateError::StaleClientid));
        last = next.client;
    }
}

#[test]
fn other_principal_is_refused_while_the_client_has_anything() {
    // RFC 8881 §18.35.4, case 3.
    let mut world = World::new();
    let client = world.client("c");
    assert_eq!(world.exchange("c", 1, "bob"), Err(StateError::ClidInUse));
    world.state.destroy_session(&client.session, 1).unwrap();
    let bob = world.exchange("c", 1, "bob").unwrap();
    assert_ne!(bob.client, client.id);
    assert_eq!(world.create_session(client.id, 2), Err(StateError::StaleClientid));

    let other = world.client("d");
    world.open_rw(other.id, "o", 1);
    world.sleep(91);
    assert!(world.exchange("d", 1, "bob").is_ok(), "the lease is over");
}

#[test]
fn state_of_a_restarted_client_stays_until_the_new_id_is_confirmed() {
    // RFC 8881 §18.35.4, case 5.
    let world = World::new();
    let old = world.client("c");
    let stateid = world.open_rw(old.id, "o", 1);
    let new = world.exchange("c", 2, "alice").unwrap();
    assert_ne!(new.client, old.id);
    assert!(world.sequence(old, 0, 1).is_ok());
    assert_eq!(world.io(old.id, &stateid, 1, IoKind::Read), Ok(()));
    world.create_session(new.client, new.sequence).unwrap();
    assert_eq!(world.sequence(old, 0, 2).unwrap_err(), StateError::BadSession);
    assert_eq!(world.io(old.id, &stateid, 1, IoKind::Read), Err(StateError::Expired));
    world.tick();
    assert_eq!((world.state.census().opens, world.state.census().clients), (0, 1));
}

#[test]
fn updates_need_a_confirmed_record_its_verifier_and_its_principal() {
    // RFC 8881 §18.35.4, cases 6 to 9.
    let world = World::new();
    assert_eq!(world.update("c", 1, "alice"), Err(StateError::NoEnt));
    world.exchange("c", 1, "alice").unwrap();
    assert_eq!(world.update("c", 1, "alice"), Err(StateError::NoEnt));
    let client = world.client("c");
    assert_eq!(world.update("c", 1, "alice").unwrap().client, client.id);
    assert_eq!(world.update("c", 2, "alice"), Err(StateError::NotSame));
    assert_eq!(world.update("c", 2, "bob"), Err(StateError::NotSame));
    assert_eq!(world.update("c", 1, "bob"), Err(StateError::Perm));
}

#[test]
fn create_session_is_executed_once_per_number() {
    // RFC 8881 §18.36.4.
    let world = World::new();
    let id = world.exchange("c", 1, "alice").unwrap();
    assert_eq!(world.create_session(id.client, 0), Err(StateError::SeqMisordered), "a repetition of nothing");
    let first = world.create_session(id.client, 1).unwrap();
    assert_eq!(world.create_session(id.client, 1).unwrap(), first);
    assert_eq!(world.create_session(id.client, 3), Err(StateError::SeqMisordered));
    assert_eq!(world.create_session(id.client, 0), Err(StateError::SeqMisordered));
    assert_ne!(world.create_session(id.client, 2).unwrap().session, first.session);
    assert_eq!(first.sequence, 1);
}

#[test]
fn failed_create_session_does_not_use_up_its_number() {
    let world = World::new();
    let id = world.exchange("c", 1, "alice").unwrap();
    let mut args = session_args(id.client, 1);
    args.back.max_request_bytes = 10;
    assert_eq!(world.state.create_session(world.now, &args), Err(StateError::TooSmall));
    args.back = channel();
    args.fore.max_response_bytes = 0;
    assert_eq!(world.state.create_session(world.now, &args), Err(StateError::TooSmall));
    assert!(world.create_session(id.client, 1).is_ok());
}

#[test]
fn other_principal_confirms_nobody_but_may_use_a_confirmed_client() {
    let world = World::new();
    let id = world.exchange("c", 1, "alice").unwrap();
    let mut args = session_args(id.client, 1);
    args.principal = Principal::new(b"bob");
    assert_eq!(world.state.create_session(world.now, &args), Err(StateError::ClidInUse));
    world.create_session(id.client, 1).unwrap();
    args.sequence = 2;
    assert!(world.state.create_session(world.now, &args).is_ok());
}

#[test]
fn channel_attributes_are_cut_to_the_limits() {
    let world = World::with(Limits { slots: 40, ..Limits::default() });
    let id = world.exchange("c", 1, "alice").unwrap();
    let mut args = session_args(id.client, 1);
    args.fore = ChannelAttributes { max_requests: 4096, max_request_bytes: u32::MAX, ..channel() };
    let created = world.state.create_session(world.now, &args).unwrap();
    assert_eq!(created.fore.max_requests, 10);
    assert_eq!(created.fore.max_request_bytes, world.state.limits().request_bytes);
    assert_eq!(world.create_session(id.client, 2).unwrap().fore.max_requests, 1, "no slots are left but one");
    world.state.destroy_session(&created.session, 1).unwrap();
    assert_eq!(world.create_session(id.client, 3).unwrap().fore.max_requests, 8);
}

#[test]
fn client_with_sessions_or_state_is_not_destroyed() {
    // RFC 8881 §18.50.3.
    let world = World::new();
    let client = world.client("c");
    assert_eq!(world.state.destroy_clientid(client.id), Err(StateError::ClientidBusy));
    let open = world.open_rw(client.id, "o", 1);
    world.state.destroy_session(&client.session, 1).unwrap();
    assert_eq!(world.state.destroy_clientid(client.id), Err(StateError::ClientidBusy));
    world.state.close(world.now, StateidScope::V41(client.id), &open, &key(1)).unwrap();
    assert_eq!(world.state.destroy_clientid(client.id), Ok(()));
    assert_eq!(world.state.destroy_clientid(client.id), Err(StateError::StaleClientid));
    assert!(world.records.0.lock().unwrap().is_empty());
}

#[test]
fn session_is_destroyed_only_over_a_connection_of_its_own() {
    // RFC 8881 §18.37.3.
    let world = World::new();
    let client = world.client("c");
    assert_eq!(world.state.destroy_session(&client.session, 77), Err(StateError::ConnNotBoundToSession));
    world.state.bind_connection(&client.session, 77, Direction::Fore).unwrap();
    assert_eq!(world.state.destroy_session(&client.session, 77), Ok(()));
    assert_eq!(world.state.destroy_session(&client.session, 77), Err(StateError::BadSession));
}

#[test]
fn too_many_clients_are_told_to_wait_unless_one_is_overdue() {
    let mut world = World::with(Limits { clients: 8, ..Limits::default() });
    world.holder("a");
    world.holder("b");
    assert_eq!(world.exchange("c", 1, "alice"), Err(StateError::Delay));
    world.sleep(91);
    assert!(world.exchange("c", 1, "alice").is_ok());
}

#[test]
fn limit_of_a_clients_sessions_holds() {
    let world = World::with(Limits { sessions_per_client: 2, ..Limits::default() });
    let new = world.exchange("a", 1, "alice").unwrap();
    for sequence in 0..2 {
        world.create_session(new.client, new.sequence + sequence).unwrap();
    }
    assert_eq!(world.create_session(new.client, new.sequence + 2), Err(StateError::Resource));
}
