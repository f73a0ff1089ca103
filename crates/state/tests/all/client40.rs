//! NFSv4.0: client ids, owners' sequences, confirmation (RFC 7530 §9.1, §16.18, §16.33–34).

use state::*;

use testing::world::*;

fn begin(world: &World, owner: SeqidOwner<'_>, seqid: u32) -> Result<SeqidTurn, StateError> {
    world.state.seqid_begin(world.now, owner, seqid)
}

fn turn(world: &World, owner: SeqidOwner<'_>, seqid: u32) -> OwnerTurn {
    match begin(world, owner, seqid).unwrap() {
        SeqidTurn::Execute(turn) => turn,
        SeqidTurn::Replay(_) => panic!("it is new"),
    }
}

fn finish(world: &World, turn: OwnerTurn, reply: &[u8]) {
    world.state.seqid_finish(world.now, turn, true, reply);
}

/// An OPEN with its place in the owner's sequence.
fn open(world: &World, client: ClientId, owner: &str, seqid: u32, file: u64) -> Opened {
    let turn = turn(world, SeqidOwner::OpenOwner { client, name: owner.as_bytes() }, seqid);
    let opened = world.open(client, owner, file, BOTH).unwrap();
    finish(world, turn, b"open");
    opened
}

fn open_confirmed(world: &World, client: ClientId, owner: &str, file: u64) -> Stateid {
    let opened = open(world, client, owner, 1, file);
    assert!(opened.confirm);
    let turn = turn(world, SeqidOwner::Stateid(opened.stateid), 2);
    let confirmed = world.state.open_confirm(world.now, &opened.stateid, &key(file)).unwrap();
    finish(world, turn, b"confirm");
    confirmed
}

fn setclientid(world: &World, verifier: u64, principal: &str) -> Result<(ClientId, [u8; 8]), StateError> {
    world.state.setclientid(world.now, &set_client_id_args("c", verifier, principal))
}

/// True when the callback path is new.
fn confirm(world: &World, id: (ClientId, [u8; 8])) -> Result<bool, StateError> {
    world.state.setclientid_confirm(world.now, id.0, id.1, &Principal::new(b"alice"))
}

fn io(world: &World, stateid: &Stateid, file: u64) -> Result<(), StateError> {
    world.state.check_io(world.now, StateidScope::V40.of(stateid), &key(file), IoKind::Read)
}

#[test]
fn unconfirmed_client_id_is_replaced() {
    // RFC 7530 §16.33.5, the case without a confirmed record.
    let world = World::new();
    let first = setclientid(&world, 1, "alice").unwrap();
    let second = setclientid(&world, 1, "alice").unwrap();
    assert!(first.0 != second.0 && first.1 != second.1);
    assert_eq!(confirm(&world, first), Err(StateError::StaleClientid));
    assert_eq!(world.open(second.0, "o", 1, READ), Err(StateError::StaleClientid));
    assert_eq!(confirm(&world, (second.0, [7; 8])), Err(StateError::StaleClientid));
    assert_eq!(confirm(&world, second), Ok(true));
    assert_eq!(confirm(&world, second), Ok(false), "repeated");
}

#[test]
fn same_verifier_changes_the_callback_and_keeps_the_state() {
    // RFC 7530 §16.33.5 and §16.34.5, the callback update.
    let world = World::new();
    let first = setclientid(&world, 1, "alice").unwrap();
    confirm(&world, first).unwrap();
    let stateid = open_confirmed(&world, first.0, "o", 1);
    let update = setclientid(&world, 1, "alice").unwrap();
    assert!(update.0 == first.0 && update.1 != first.1);
    assert_eq!(confirm(&world, first), Ok(false), "the old confirmation repeated");
    assert_eq!(confirm(&world, update), Ok(true));
    assert_eq!(io(&world, &stateid, 1), Ok(()));
}

#[test]
fn other_verifier_means_a_restart_and_its_confirmation_ends_the_old_state() {
    // RFC 7530 §16.33.5 and §16.34.5, the restart.
    let world = World::new();
    let old = setclientid(&world, 1, "alice").unwrap();
    confirm(&world, old).unwrap();
    let stateid = open_confirmed(&world, old.0, "o", 1);
    let lost = setclientid(&world, 2, "alice").unwrap();
    let new = setclientid(&world, 2, "alice").unwrap();
    assert!(new.0 != old.0 && new.0 != lost.0);
    assert_eq!(confirm(&world, lost), Err(StateError::StaleClientid));
    assert_eq!(io(&world, &stateid, 1), Ok(()));
    confirm(&world, new).unwrap();
    assert_eq!(io(&world, &stateid, 1), Err(StateError::Expired));
    assert_eq!(world.state.renew(world.now, old.0), Err(StateError::Expired));
    assert_eq!(world.state.renew(world.now, new.0), Ok(()));
    assert_eq!(world.state.renew(world.now, ClientId(0)), Err(StateError::StaleClientid));
}

#[test]
fn other_principal_is_refused_while_there_is_state() {
    let world = World::new();
    let id = setclientid(&world, 1, "alice").unwrap();
    let bob = Principal::new(b"bob");
    assert_eq!(world.state.setclientid_confirm(world.now, id.0, id.1, &bob), Err(StateError::ClidInUse));
    confirm(&world, id).unwrap();
    open_confirmed(&world, id.0, "o", 1);
    assert_eq!(setclientid(&world, 1, "bob"), Err(StateError::ClidInUse));
    let world = World::new();
    confirm(&world, setclientid(&world, 1, "alice").unwrap()).unwrap();
    assert!(setclientid(&world, 1, "bob").is_ok(), "nothing is held");
}

#[test]
fn unconfirmed_open_may_not_be_used() {
    // RFC 7530 §16.18.5.
    let world = World::new();
    let client = world.client40("c", 1);
    let opened = open(&world, client, "o", 1, 1);
    assert_eq!(io(&world, &opened.stateid, 1), Err(StateError::BadStateid));
    let confirmed = world.state.open_confirm(world.now, &opened.stateid, &key(1)).unwrap();
    assert_eq!(confirmed.seqid, 2);
    assert_eq!(io(&world, &confirmed, 1), Ok(()));
    assert_eq!(world.state.open_confirm(world.now, &confirmed, &key(1)), Err(StateError::BadStateid));
    assert!(!open(&world, client, "o", 2, 2).confirm, "owners are confirmed once");
}

#[test]
fn new_open_of_an_unconfirmed_owner_starts_over() {
    let world = World::new();
    let client = world.client40("c", 1);
    let first = open(&world, client, "o", 1, 1);
    let second = open(&world, client, "o", 77, 2);
    assert!(second.confirm);
    assert_eq!(world.state.open_confirm(world.now, &first.stateid, &key(1)), Err(StateError::BadStateid));
    assert!(world.state.open_confirm(world.now, &second.stateid, &key(2)).is_ok());
}

#[test]
fn owner_repeats_its_last_reply_and_takes_only_the_next_number() {
    // RFC 7530 §9.1.7.
    let world = World::new();
    let client = world.client40("c", 1);
    open_confirmed(&world, client, "o", 1);
    let owner = SeqidOwner::OpenOwner { client, name: b"o" };
    match begin(&world, owner, 2).unwrap() {
        SeqidTurn::Replay(reply) => assert_eq!(&*reply, b"confirm"),
        SeqidTurn::Execute(_) => panic!("executed twice"),
    }
    assert_eq!(begin(&world, owner, 50).unwrap_err(), StateError::BadSeqid);
    assert_eq!(begin(&world, owner, 1).unwrap_err(), StateError::BadSeqid);
    let busy = turn(&world, owner, 3);
    assert_eq!(begin(&world, owner, 3).unwrap_err(), StateError::Delay);
    drop(busy);
    let failed = turn(&world, owner, 3);
    world.state.seqid_finish(world.now, failed, false, b"error");
    finish(&world, turn(&world, owner, 3), b"third");
}

#[test]
fn repeated_close_finds_its_reply() {
    // RFC 7530 §9.10.1: the closed stateid is remembered for that.
    let world = World::new();
    let client = world.client40("c", 1);
    let stateid = open_confirmed(&world, client, "o", 1);
    let close = turn(&world, SeqidOwner::Stateid(stateid), 3);
    let closed = world.state.close(world.now, StateidScope::V40, &stateid, &key(1)).unwrap();
    finish(&world, close, b"closed");
    assert_eq!(closed.seqid, 3);
    assert!(
        matches!(begin(&world, SeqidOwner::Stateid(stateid), 3), Ok(SeqidTurn::Replay(reply)) if &*reply == b"closed")
    );
    assert_eq!(io(&world, &closed, 1), Err(StateError::BadStateid));
    open(&world, client, "o", 4, 1);
    assert_eq!(begin(&world, SeqidOwner::Stateid(stateid), 3).unwrap_err(), StateError::BadStateid);
    assert_eq!(world.state.census().opens, 1);
}

#[test]
fn idle_owners_are_forgotten_after_a_lease() {
    // RFC 7530 §9.1.9.
    let mut world = World::new();
    let client = world.client40("c", 1);
    let stateid = open_confirmed(&world, client, "o", 1);
    let close = turn(&world, SeqidOwner::Stateid(stateid), 3);
    world.state.close(world.now, StateidScope::V40, &stateid, &key(1)).unwrap();
    finish(&world, close, b"closed");
    for _ in 0..2 {
        world.sleep(60);
        world.state.renew(world.now, client).unwrap();
        world.tick();
    }
    let census = world.state.census();
    assert_eq!((census.owners, census.opens, census.files, census.clients), (0, 0, 0, 1));
}

#[test]
fn lock_owner_has_a_sequence_of_its_own() {
    // RFC 7530 §16.10.5.
    let world = World::new();
    let client = world.client40("c", 1);
    let stateid = open_confirmed(&world, client, "o", 1);
    let opener = turn(&world, SeqidOwner::Stateid(stateid), 3);
    let locker = turn(&world, SeqidOwner::LockOwner { client, name: b"l" }, 9);
    let how = Locker::New { open: &stateid, owner: b"l" };
    let lock = world.state.lock(world.now, &lock_args(StateidScope::V40, how, write_lock(1, 0, 10))).unwrap();
    finish(&world, opener, b"lock");
    finish(&world, locker, b"lock");
    assert!(matches!(begin(&world, SeqidOwner::Stateid(lock), 9), Ok(SeqidTurn::Replay(_))));
    assert_eq!(begin(&world, SeqidOwner::Stateid(lock), 11).unwrap_err(), StateError::BadSeqid);
    assert!(matches!(begin(&world, SeqidOwner::Stateid(lock), 10), Ok(SeqidTurn::Execute(_))));
    let again = world.state.lock(world.now, &lock_args(StateidScope::V40, how, write_lock(1, 20, 10))).unwrap();
    assert_eq!(again.other, lock.other, "an owner has one stateid for a file, however it names itself");
}

#[test]
fn lock_owner_with_locks_is_not_released() {
    // RFC 7530 §16.37.
    let world = World::new();
    let client = world.client40("c", 1);
    let stateid = open_confirmed(&world, client, "o", 1);
    let how = Locker::New { open: &stateid, owner: b"l" };
    let lock = world.state.lock(world.now, &lock_args(StateidScope::V40, how, write_lock(1, 0, 10))).unwrap();
    assert_eq!(world.state.release_lockowner(world.now, client, b"l"), Err(StateError::LocksHeld));
    world.state.unlock(world.now, StateidScope::V40.of(&lock), &key(1), ByteRange::WHOLE).unwrap();
    assert_eq!(world.state.release_lockowner(world.now, client, b"l"), Ok(()));
    assert_eq!(world.state.release_lockowner(world.now, client, b"l"), Ok(()));
    assert_eq!(world.state.census().lock_states, 0);
}

#[test]
fn stateids_have_no_wildcard_in_v40() {
    let world = World::new();
    let client = world.client40("c", 1);
    let stateid = open_confirmed(&world, client, "o", 1);
    assert_eq!(io(&world, &Stateid { seqid: 0, ..stateid }, 1), Err(StateError::OldStateid));
    assert_eq!(io(&world, &Stateid { seqid: 1, ..stateid }, 1), Err(StateError::OldStateid));
}

#[test]
fn renew_tells_a_client_with_delegations_that_it_cannot_be_called() {
    // RFC 7530 §16.27.4.
    let world = World::new();
    let client = world.client40("c", 1);
    open_confirmed(&world, client, "o", 1);
    let mut args = open_args(client, "o", 2, READ);
    args.want = DelegationWant::NoPreference;
    assert!(matches!(world.state.open(world.now, &args).unwrap().delegation, DelegationAnswer::Granted { .. }));
    assert_eq!(world.state.renew(world.now, client), Ok(()));
    world.state.callback_path_40(client, false);
    assert_eq!(world.state.renew(world.now, client), Err(StateError::CbPathDown));
}
