//! SEQUENCE, slots, connections and callbacks (RFC 8881 §2.10, §18.46).

use state::*;

use testing::world::*;

fn execute(world: &World, client: Client, slot: u32, sequence: u32) -> SlotTurn {
    match world.sequence(client, slot, sequence).unwrap() {
        Sequenced::Execute(turn, _) => turn,
        Sequenced::Replay(_) => panic!("it is new"),
    }
}

#[test]
fn repeated_request_gets_its_first_reply() {
    let world = World::new();
    let client = world.client("c");
    execute(&world, client, 2, 1).finish(b"the reply");
    match world.sequence(client, 2, 1).unwrap() {
        Sequenced::Replay(reply) => assert_eq!(reply, b"the reply"),
        Sequenced::Execute(..) => panic!("executed twice"),
    }
}

#[test]
fn reply_larger_than_agreed_is_not_kept() {
    let world = World::new();
    let client = world.client("c");
    execute(&world, client, 0, 1).finish(&[0; 4097]);
    assert_eq!(world.sequence(client, 0, 1).unwrap_err(), StateError::RetryUncachedRep);
    execute(&world, client, 0, 2).finish(&[0; 4096]);
    assert!(matches!(world.sequence(client, 0, 2), Ok(Sequenced::Replay(_))));
}

#[test]
fn reply_that_nobody_asked_to_keep_is_kept_only_if_tiny() {
    let world = World::new();
    let client = world.client("c");
    let mut args = SequenceArgs { cache_this: false, ..sequence_args(client.session, 0, 1) };
    let Ok(Sequenced::Execute(turn, _)) = world.state.sequence(world.now, &args) else { panic!() };
    turn.finish(&[0; 500]);
    assert_eq!(world.state.sequence(world.now, &args).unwrap_err(), StateError::RetryUncachedRep);
    args.sequence = 2;
    let Ok(Sequenced::Execute(turn, _)) = world.state.sequence(world.now, &args) else { panic!() };
    turn.finish(&[0; 80]);
    assert!(matches!(world.state.sequence(world.now, &args), Ok(Sequenced::Replay(_))));
}

#[test]
fn wrong_sessions_slots_and_numbers_are_told_apart() {
    let world = World::new();
    let client = world.client("c");
    let stranger = Client { session: SessionId([9; 16]), ..client };
    assert_eq!(world.sequence(stranger, 0, 1).unwrap_err(), StateError::BadSession);
    assert_eq!(world.sequence(client, 8, 1).unwrap_err(), StateError::BadSlot);
    let args = SequenceArgs { highest_slot: 8, ..sequence_args(client.session, 0, 1) };
    assert_eq!(world.state.sequence(world.now, &args).unwrap_err(), StateError::BadHighSlot);
    assert_eq!(world.sequence(client, 0, 2).unwrap_err(), StateError::SeqMisordered);
    execute(&world, client, 0, 1).finish(b"");
    let args = SequenceArgs { digest: 5, ..sequence_args(client.session, 0, 1) };
    assert_eq!(world.state.sequence(world.now, &args).unwrap_err(), StateError::SeqFalseRetry);
}

#[test]
fn request_that_is_dropped_never_was() {
    let world = World::new();
    let client = world.client("c");
    let turn = execute(&world, client, 0, 1);
    assert_eq!(world.sequence(client, 0, 1).unwrap_err(), StateError::Delay);
    drop(turn);
    execute(&world, client, 0, 1).finish(b"");
}

#[test]
fn sessions_give_slots_back_when_few_are_left_and_get_them_again() {
    // RFC 8881 §2.10.6.1: the target leads, the client follows.
    let world = World::with(Limits { slots: 32, ..Limits::default() });
    let join = |host: u8| {
        let owner = format!("client {host}");
        let args = ExchangeIdArgs { origin: origin(host), ..exchange_args(&owner, 1, "alice", false) };
        let id = world.state.exchange_id(world.now, &args).unwrap();
        let created = world.create_session(id.client, id.sequence).unwrap();
        (Client { id: id.client, session: created.session }, created.fore.max_requests)
    };
    let reply = |client: Client, (slot, highest_slot), sequence| {
        let args = SequenceArgs { highest_slot, ..sequence_args(client.session, slot, sequence) };
        match world.state.sequence(world.now, &args) {
            Ok(Sequenced::Execute(turn, reply)) => {
                turn.finish(b"");
                (reply.highest_slot, reply.target_highest_slot)
            }
            other => panic!("{other:?}"),
        }
    };
    let first: Vec<Client> = (1..=4).map(|host| join(host).0).collect();
    assert_eq!(join(5).1, 1, "the others have the rest");
    world.tick();
    for client in &first {
        assert_eq!(reply(*client, (0, 5), 1), (7, 2));
        assert_eq!(reply(*client, (0, 2), 2), (2, 2));
        assert_eq!(world.sequence(*client, 3, 1).unwrap_err(), StateError::BadSlot);
    }
    world.tick();
    let (late, slots) = join(6);
    assert_eq!(slots, 8);
    world.state.destroy_session(&late.session, 1).unwrap();
    world.tick();
    assert_eq!(reply(first[0], (7, 7), 1), (7, 7));
}

#[test]
fn lost_back_channel_is_told_and_a_new_one_ends_it() {
    let world = World::new();
    let client = world.client("c");
    assert_eq!(world.flags(client, 1), StatusFlags(0));
    world.state.connection_closed(1);
    let flags = world.flags(client, 2);
    assert!(flags.has(StatusFlags::CB_PATH_DOWN | StatusFlags::CB_PATH_DOWN_SESSION));
    world.state.bind_connection(&client.session, 2, Direction::Back).unwrap();
    assert_eq!(world.flags(client, 3), StatusFlags(0));
}

#[test]
fn second_session_keeps_the_callback_path_up() {
    let world = World::new();
    let client = world.client("c");
    let mut args = session_args(client.id, 2);
    args.connection = 2;
    world.state.create_session(world.now, &args).unwrap();
    world.state.connection_closed(1);
    let flags = world.flags(client, 1);
    assert!(flags.has(StatusFlags::CB_PATH_DOWN_SESSION) && !flags.has(StatusFlags::CB_PATH_DOWN));
}

#[test]
fn callbacks_take_slots_of_the_back_channel() {
    let world = World::new();
    let client = world.client("c");
    world.state.backchannel_ctl(&client.session, 77, vec![CallbackSecurity::Gss, CallbackSecurity::None]).unwrap();
    let Ok(CallbackRoute::V41 { slot, sequence, program, connection, security, .. }) =
        world.state.callback_route(client.id)
    else {
        panic!()
    };
    assert_eq!((slot, sequence, program, connection, security), (0, 1, 77, 1, CallbackSecurity::None));
    world.state.callback_done(&client.session, 0, CallbackOutcome::Failed);
    assert!(world.flags(client, 1).has(StatusFlags::BACKCHANNEL_FAULT));
    let Ok(CallbackRoute::V41 { slot, sequence, .. }) = world.state.callback_route(client.id) else { panic!() };
    assert_eq!((slot, sequence), (0, 2));
    world.state.callback_done(&client.session, 0, CallbackOutcome::Answered);
    assert_eq!(world.flags(client, 2), StatusFlags(0));
    world.state.connection_closed(1);
    assert_eq!(world.state.callback_route(client.id), Err(StateError::CbPathDown));
}

#[test]
fn sequence_renews_the_lease() {
    let mut world = World::new();
    let (client, other) = (world.client("c"), world.client("d"));
    world.open(client.id, "o", 1, (ShareAccess::BOTH, ShareDeny::BOTH)).unwrap();
    for number in 1..4 {
        world.sleep(60);
        execute(&world, client, 0, number).finish(b"");
        execute(&world, other, 0, number).finish(b"");
        world.tick();
    }
    assert_eq!(world.open(other.id, "o", 1, READ), Err(StateError::ShareDenied));
}
