//! The lock protocol of NFSv2 and NFSv3, which shares its table with NFSv4.

use state::*;

use testing::world::*;

fn lock<'a>(host: &'a str, owner: &'a str, offset: u64, length: u64) -> NlmLock<'a> {
    let range = ByteRange::nlm(offset, length).unwrap();
    NlmLock { host: host.as_bytes(), origin: origin(1), owner: owner.as_bytes(), file: key(1), range, exclusive: true }
}

fn now(world: &World, wanted: NlmLock<'_>) -> Result<NlmOutcome, StateError> {
    world.state.nlm_lock(world.now, &wanted, NlmMode::Now)
}

#[test]
fn locks_of_both_protocols_conflict() {
    let world = World::new();
    let client = world.client("c").id;
    let open = world.open_rw(client, "o", 1);
    assert_eq!(now(&world, lock("h", "p", 0, 10)), Ok(NlmOutcome::Granted));
    let Err(StateError::Denied(conflict)) = world.lock_new(client, &open, "l", read_lock(1, 5, 1)) else { panic!() };
    assert_eq!((conflict.client, &*conflict.owner), (None, b"p".as_slice()));
    world.lock_new(client, &open, "l", write_lock(1, 100, 1)).unwrap();
    assert!(is_denied(now(&world, lock("h", "p", 50, 0))));
    assert!(is_denied(world.state.nlm_test(world.now, &lock("h", "q", 5, 1))));
    assert_eq!(world.state.nlm_test(world.now, &lock("h", "p", 5, 1)), Ok(()));
    assert!(is_denied(world.state.nlm_test(world.now, &lock("other", "p", 5, 1))), "owners belong to hosts");
}

#[test]
fn waiting_host_gets_the_lock_when_it_is_free() {
    let world = World::new();
    now(&world, lock("h", "p", 0, 10)).unwrap();
    let wanted = lock("i", "q", 5, 10);
    assert_eq!(world.state.nlm_lock(world.now, &wanted, NlmMode::Wait(b"17")), Ok(NlmOutcome::Blocked));
    assert_eq!(world.state.nlm_lock(world.now, &wanted, NlmMode::Wait(b"18")), Ok(NlmOutcome::Blocked), "repeated");
    world.state.nlm_unlock(world.now, &lock("h", "p", 0, 0)).unwrap();
    let granted = NlmGranted {
        host: (*b"i").into(),
        owner: (*b"q").into(),
        cookie: (*b"18").into(),
        file: key(1),
        range: wanted.range,
        exclusive: true,
    };
    assert_eq!(world.events(), [Event::NlmGranted(Box::new(granted))]);
    assert!(is_denied(now(&world, lock("h", "p", 0, 10))), "it is held already");
    assert!(!world.state.nlm_cancel(&wanted));
    world.state.nlm_unlock(world.now, &wanted).unwrap();
    assert_eq!(world.state.census(), Census::default());
}

#[test]
fn cancelled_wait_is_forgotten() {
    let world = World::new();
    now(&world, lock("h", "p", 0, 10)).unwrap();
    let wanted = lock("i", "q", 5, 10);
    world.state.nlm_lock(world.now, &wanted, NlmMode::Wait(b"17")).unwrap();
    assert!(world.state.nlm_cancel(&wanted));
    world.state.nlm_unlock(world.now, &lock("h", "p", 0, 0)).unwrap();
    assert_eq!(world.events(), []);
    assert_eq!(world.state.census(), Census::default());
}

#[test]
fn deadlock_between_hosts_is_found() {
    let world = World::new();
    now(&world, lock("h", "p", 0, 1)).unwrap();
    now(&world, lock("i", "q", 1, 1)).unwrap();
    world.state.nlm_lock(world.now, &lock("h", "p", 1, 1), NlmMode::Wait(b"")).unwrap();
    let circle = world.state.nlm_lock(world.now, &lock("i", "q", 0, 1), NlmMode::Wait(b""));
    assert_eq!(circle, Err(StateError::Deadlock));
}

#[test]
fn host_that_restarted_has_nothing_left() {
    let world = World::new();
    now(&world, lock("h", "p", 0, 10)).unwrap();
    now(&world, lock("h", "q", 20, 10)).unwrap();
    now(&world, lock("i", "r", 40, 10)).unwrap();
    world.state.nlm_lock(world.now, &lock("h", "p", 40, 10), NlmMode::Wait(b"")).unwrap();
    assert_eq!(world.records.0.lock().unwrap().len(), 2);
    assert_eq!(world.state.nlm_free_hosts(world.now, |host| host == b"h"), 1);
    assert_eq!(world.state.census().locks, 1);
    world.state.nlm_unlock(world.now, &lock("i", "r", 40, 10)).unwrap();
    assert_eq!(world.events(), [], "nor does it wait");
    assert_eq!(world.records.0.lock().unwrap().len(), 1);
}

#[test]
fn host_that_restarted_before_it_reclaimed_is_told_nothing_and_waited_for_no_more() {
    let mut world = World::new();
    now(&world, lock("h", "p", 0, 10)).unwrap();
    now(&world, lock("i", "q", 20, 10)).unwrap();
    world.restart();
    assert_eq!(world.state.nlm_hosts_to_notify().len(), 2);
    assert_eq!(world.state.nlm_free_hosts(world.now, |host| host == b"h"), 1);
    assert_eq!(world.state.nlm_hosts_to_notify(), [Box::from(&b"i"[..])]);
    assert!(world.state.in_grace(world.now));
    assert_eq!(world.state.nlm_free_hosts(world.now, |_| true), 1);
    assert!(!world.state.in_grace(world.now), "nobody is left who may reclaim");
    assert!(world.records.0.lock().unwrap().is_empty());
}

#[test]
fn hosts_reclaim_in_grace_only() {
    let mut world = World::new();
    now(&world, lock("h", "p", 0, 10)).unwrap();
    let reclaim = |world: &World, host| world.state.nlm_lock(world.now, &lock(host, "p", 0, 10), NlmMode::Reclaim);
    assert_eq!(reclaim(&world, "h"), Err(StateError::NoGrace));
    world.restart();
    assert_eq!(now(&world, lock("h", "p", 20, 10)), Err(StateError::Grace));
    assert_eq!(world.state.nlm_test(world.now, &lock("h", "p", 20, 10)), Err(StateError::Grace));
    assert_eq!(reclaim(&world, "stranger"), Err(StateError::ReclaimBad));
    assert_eq!(reclaim(&world, "h"), Ok(NlmOutcome::Granted));
    world.sleep(91);
    assert_eq!(reclaim(&world, "h"), Err(StateError::NoGrace));
    assert_eq!(now(&world, lock("h", "p", 20, 10)), Ok(NlmOutcome::Granted));
    assert_eq!(world.records.0.lock().unwrap().len(), 1);
}

#[test]
fn shares_conflict_with_each_other_and_with_opens() {
    let world = World::new();
    let client = world.client("c").id;
    let share = |host: &str, access, deny| {
        let args = NlmShareArgs {
            host: host.as_bytes(),
            origin: origin(1),
            owner: b"p",
            file: key(1),
            access,
            deny,
            reclaim: false,
        };
        world.state.nlm_share(world.now, &args)
    };
    share("h", Some(ShareAccess::READ), ShareDeny::WRITE).unwrap();
    assert_eq!(share("h", Some(ShareAccess::BOTH), ShareDeny::WRITE), Ok(()), "its own share is replaced");
    assert_eq!(share("i", Some(ShareAccess::WRITE), ShareDeny::NONE), Err(StateError::ShareDenied));
    assert_eq!(world.open(client, "o", 1, WRITE), Err(StateError::ShareDenied));
    assert!(world.open(client, "o", 1, READ).is_ok());
    let check = world.state.conflict_check(world.now, &key(1), AccessKind::Write, Requester::Other);
    assert_eq!(check, Err(StateError::Locked));
    world.state.nlm_unshare(b"h", b"p", &key(1));
    assert!(world.open(client, "o", 1, WRITE).is_ok());
    assert_eq!(share("h", Some(ShareAccess::READ), ShareDeny::WRITE), Err(StateError::ShareDenied));
}

#[test]
fn lock_recalls_the_delegation_of_a_client_that_locks_on_its_own() {
    // RFC 8881 §10.4.1.
    let world = World::new();
    let client = world.client("c").id;
    let mut args = open_args(client, "o", 1, BOTH);
    args.want = DelegationWant::Any;
    let DelegationAnswer::Granted { stateid, .. } = world.state.open(world.now, &args).unwrap().delegation else {
        panic!()
    };
    assert_eq!(now(&world, lock("h", "p", 0, 10)), Err(StateError::Delay));
    assert_eq!(world.events().len(), 1);
    world.state.delegreturn(world.now, StateidScope::V41(client), &stateid, &key(1)).unwrap();
    assert_eq!(now(&world, lock("h", "p", 0, 10)), Ok(NlmOutcome::Granted));
}

#[test]
fn host_that_holds_nothing_for_long_is_forgotten() {
    let mut world = World::new();
    now(&world, lock("idle", "p", 0, 10)).unwrap();
    world.state.nlm_unlock(world.now, &lock("idle", "p", 0, 10)).unwrap();
    now(&world, lock("busy", "p", 20, 10)).unwrap();
    world.sleep(599);
    world.tick();
    assert_eq!((world.state.nlm_hosts(), world.records.0.lock().unwrap().len()), (2, 1));
    world.sleep(600);
    world.tick();
    assert_eq!((world.state.nlm_hosts(), world.records.0.lock().unwrap().len()), (1, 1));
    assert_eq!(now(&world, lock("idle", "p", 0, 10)), Ok(NlmOutcome::Granted), "it may come back");
    assert_eq!(world.records.0.lock().unwrap().len(), 2);
}

#[test]
fn hosts_that_hold_nothing_make_room_for_others() {
    let world = World::with(Limits { nlm_hosts: 10, ..Limits::default() });
    assert_eq!(now(&world, lock("holder", "p", 100, 1)), Ok(NlmOutcome::Granted));
    for number in 0..50 {
        let name = format!("flood {number}");
        assert_eq!(now(&world, lock(&name, "p", 0, 10)), Ok(NlmOutcome::Granted), "{number}");
        world.state.nlm_unlock(world.now, &lock(&name, "p", 0, 10)).unwrap();
    }
    assert_eq!(world.state.nlm_hosts(), 10);
    assert!(is_denied(now(&world, lock("witness", "p", 100, 1))), "the holder is still there");
}
