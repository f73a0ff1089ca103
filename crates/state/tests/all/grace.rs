//! Whom a restart waits for: clients that hold something, and only until they have reclaimed it (RFC 8881 §8.4.2.1).

use state::*;

use testing::world::*;

fn reclaim(world: &World, client: ClientId, file: u64) -> Result<Opened, StateError> {
    let mut args = open_args(client, "o", file, BOTH);
    args.claim = Claim::Previous(None);
    world.state.open(world.now, &args)
}

fn nlm_lock(world: &World, host: &str, mode: NlmMode<'_>) -> Result<NlmOutcome, StateError> {
    let range = ByteRange::nlm(0, 10).unwrap();
    let lock = NlmLock { host: host.as_bytes(), origin: origin(1), owner: b"p", file: key(9), range, exclusive: true };
    world.state.nlm_lock(world.now, &lock, mode)
}

fn nlm_unlock(world: &World, host: &str) {
    let range = ByteRange::nlm(0, 10).unwrap();
    let lock = NlmLock { host: host.as_bytes(), origin: origin(1), owner: b"p", file: key(9), range, exclusive: true };
    world.state.nlm_unlock(world.now, &lock).unwrap();
}

/// Lets some seconds go by, with a tick in each.
fn live(world: &mut World, seconds: u64) {
    for _ in 0..seconds {
        world.sleep(1);
        world.tick();
    }
}

fn records(world: &World) -> usize {
    world.records.0.lock().unwrap().len()
}

#[test]
fn client_that_never_held_anything_is_not_waited_for() {
    let mut world = World::new();
    world.client("a");
    world.client40("b", 1);
    assert_eq!(records(&world), 0);
    world.restart();
    assert!(!world.state.in_grace(world.now));
    let a = world.client("a");
    assert!(world.open(a.id, "o", 1, BOTH).is_ok());
}

#[test]
fn client_is_on_record_while_it_holds_something_and_not_for_long_afterwards() {
    let mut world = World::new();
    let a = world.client("a");
    let b = world.client40("b", 1);
    let open_a = world.open_rw(a.id, "o", 1);
    let open_b = world.open_rw(b, "o", 2);
    let open_b = world.state.open_confirm(world.now, &open_b, &key(2)).unwrap();
    assert_eq!(records(&world), 2, "before anything is granted");
    live(&mut world, 60);
    assert_eq!(records(&world), 2, "as long as it is open");
    world.state.close(world.now, StateidScope::V41(a.id), &open_a, &key(1)).unwrap();
    world.state.close(world.now, StateidScope::V40, &open_b, &key(2)).unwrap();
    live(&mut world, 4);
    assert_eq!(records(&world), 0);
    world.restart();
    assert!(!world.state.in_grace(world.now));
}

#[test]
fn host_is_on_record_while_it_holds_a_lock_and_not_for_long_afterwards() {
    let mut world = World::new();
    nlm_lock(&world, "h", NlmMode::Now).unwrap();
    live(&mut world, 60);
    assert_eq!(records(&world), 1);
    nlm_unlock(&world, "h");
    live(&mut world, 4);
    assert_eq!(records(&world), 0);
    nlm_lock(&world, "h", NlmMode::Now).unwrap();
    assert_eq!(records(&world), 1, "it is put on record again before it is granted anything");
}

#[test]
fn client_that_opens_and_closes_all_the_time_costs_the_store_little() {
    let mut world = World::new();
    let a = world.client("a");
    for _ in 0..600 {
        let open = world.open_rw(a.id, "o", 1);
        world.state.close(world.now, StateidScope::V41(a.id), &open, &key(1)).unwrap();
        live(&mut world, 4);
    }
    let changes = world.records.changes();
    assert!(changes < 40, "{changes} changes of the store in 40 minutes");
}

#[test]
fn restarted_client_takes_the_record_of_its_earlier_life_away() {
    let mut world = World::new();
    let old = world.client("a");
    world.open_rw(old.id, "o", 1);
    let new = world.exchange("a", 2, "alice").unwrap();
    world.create_session(new.client, new.sequence).unwrap();
    let old = world.client40("b", 1);
    world.open_rw(old, "o", 2);
    world.client40("b", 2);
    assert_eq!(records(&world), 0);
    world.restart();
    assert!(!world.state.in_grace(world.now));
}

#[test]
fn clean_stop_leaves_those_on_record_that_hold_something() {
    let mut world = World::new();
    let (a, b) = (world.client("a").id, world.client40("b", 1));
    world.client("still here");
    let open_of_a = world.open_rw(a, "o", 1);
    let open_of_b = world.open_rw(b, "o", 2);
    let open_of_b = world.state.open_confirm(world.now, &open_of_b, &key(2)).unwrap();
    nlm_lock(&world, "h", NlmMode::Now).unwrap();
    world.state.release_records(world.now);
    assert_eq!(records(&world), 3, "all of them hold something");
    world.state.close(world.now, StateidScope::V41(a), &open_of_a, &key(1)).unwrap();
    world.state.close(world.now, StateidScope::V40, &open_of_b, &key(2)).unwrap();
    nlm_unlock(&world, "h");
    assert_eq!(records(&world), 3, "no tick has taken them off the record");
    world.holder("holder");
    world.state.release_records(world.now);
    assert_eq!(records(&world), 1);
    world.restart();
    let holder = world.newcomer("holder");
    world.state.release_records(world.now);
    assert_eq!(records(&world), 1, "it may reclaim after the next restart as well");
    world.state.reclaim_complete(world.now, holder.id, false).unwrap();
    assert!(!world.state.in_grace(world.now));
}

#[test]
fn revoked_state_keeps_the_record_that_says_so() {
    // Without it the client would be put on record again as one that may reclaim (RFC 8881 §8.4.3).
    let mut world = World::new();
    let a = world.client("a");
    let open = world.open_rw(a.id, "o", 1);
    world.state.revoke_by_administrator(world.now, &open).unwrap();
    live(&mut world, 60);
    assert!(world.records.0.lock().unwrap().iter().any(|record| record.revoked));
}

#[test]
fn client_without_opens_that_finishes_at_once_ends_the_grace_period_and_its_record() {
    let mut world = World::new();
    let a = world.client("a");
    world.open_rw(a.id, "o", 1);
    world.restart();
    let a = world.newcomer("a");
    world.state.reclaim_complete(world.now, a.id, false).unwrap();
    assert!(!world.state.in_grace(world.now));
    assert_eq!(records(&world), 0, "it did not reclaim what it had");
    assert!(world.open(a.id, "o", 2, BOTH).is_ok());
}

#[test]
fn v40_client_that_wants_something_new_and_is_quiet_has_reclaimed() {
    let mut world = World::new();
    world.open_rw(world.client40("c", 1), "o", 1);
    world.restart();
    let c = world.client40("c", 1);
    assert!(reclaim(&world, c, 1).is_ok());
    assert_eq!(world.open(c, "o", 2, READ), Err(StateError::Grace));
    for file in 3..9 {
        world.now += std::time::Duration::from_millis(500);
        assert!(reclaim(&world, c, file).is_ok(), "another thread of it was not finished");
        assert_eq!(world.open(c, "o", 2, READ), Err(StateError::Grace), "it may reclaim more");
    }
    live(&mut world, 1);
    assert!(world.open(c, "o", 2, READ).is_ok());
    assert_eq!(reclaim(&world, c, 10), Err(StateError::NoGrace));
}

#[test]
fn v40_client_that_has_reclaimed_and_is_silent_has_finished() {
    let mut world = World::new();
    world.open_rw(world.client40("c", 1), "o", 1);
    world.restart();
    let c = world.client40("c", 1);
    live(&mut world, 60);
    assert!(world.state.in_grace(world.now), "it has not begun");
    assert!(reclaim(&world, c, 1).is_ok());
    live(&mut world, 9);
    assert!(world.state.in_grace(world.now));
    live(&mut world, 2);
    assert!(!world.state.in_grace(world.now));
}

#[test]
fn v40_client_that_uses_what_it_has_reclaimed_has_finished() {
    type Use = fn(&World, ClientId, &Stateid, u64) -> Result<(), StateError>;
    let uses: [(&str, Use); 4] = [
        ("READ", |world, _, open, file| {
            world.state.check_io(world.now, StateidScope::V40.of(open), &key(file), IoKind::Read)
        }),
        ("WRITE", |world, _, open, file| {
            world.state.check_io(world.now, StateidScope::V40.of(open), &key(file), IoKind::Write)
        }),
        ("CLOSE", |world, _, open, file| world.state.close(world.now, StateidScope::V40, open, &key(file)).map(|_| ())),
        ("RENEW", |world, client, _, _| world.state.renew(world.now, client)),
    ];
    for (name, uses) in uses {
        let mut world = World::new();
        world.open_rw(world.client40("c", 1), "o", 1);
        world.restart();
        let c = world.client40("c", 1);
        world.state.renew(world.now, c).unwrap();
        live(&mut world, 2);
        assert!(world.state.in_grace(world.now), "{name}: it has not begun to reclaim");
        let one = reclaim(&world, c, 1).unwrap().stateid;
        uses(&world, c, &one, 1).unwrap();
        let other = reclaim(&world, c, 2).unwrap().stateid;
        live(&mut world, 2);
        assert!(world.state.in_grace(world.now), "{name}: it has reclaimed more since then");
        uses(&world, c, &other, 2).unwrap();
        live(&mut world, 1);
        assert!(!world.state.in_grace(world.now), "{name}");
    }
}

#[test]
fn host_that_wants_a_new_lock_before_it_reclaims_is_waited_for() {
    // Its lock manager may not have been told of the restart yet.
    let mut world = World::new();
    nlm_lock(&world, "h", NlmMode::Now).unwrap();
    world.restart();
    assert_eq!(nlm_lock(&world, "h", NlmMode::Now), Err(StateError::Grace));
    live(&mut world, 60);
    assert!(world.state.in_grace(world.now));
    assert!(nlm_lock(&world, "h", NlmMode::Reclaim).is_ok());
    assert_eq!(nlm_lock(&world, "h", NlmMode::Now), Err(StateError::Grace));
    live(&mut world, 9);
    assert!(world.state.in_grace(world.now), "a datagram of its may have been lost");
    live(&mut world, 3);
    assert!(!world.state.in_grace(world.now));
}

#[test]
fn host_that_has_reclaimed_and_is_quiet_for_long_has_finished() {
    let mut world = World::new();
    nlm_lock(&world, "h", NlmMode::Now).unwrap();
    world.restart();
    assert!(nlm_lock(&world, "h", NlmMode::Reclaim).is_ok());
    live(&mut world, 28);
    assert!(world.state.in_grace(world.now));
    live(&mut world, 3);
    assert!(!world.state.in_grace(world.now));
    assert_eq!(records(&world), 1, "what it has reclaimed it may reclaim again");
}

#[test]
fn full_store_keeps_nobody_from_working() {
    let mut world = World::new();
    world.records.set_full(true);
    let a = world.client("a");
    world.open_rw(a.id, "o", 1);
    nlm_lock(&world, "h", NlmMode::Now).unwrap();
    assert_eq!(records(&world), 0);
    world.records.set_full(false);
    live(&mut world, 1);
    assert_eq!(records(&world), 2, "they are put on record as soon as there is space");
    world.restart();
    assert!(reclaim(&world, world.newcomer("a").id, 1).is_ok());
}

#[test]
fn full_store_ends_the_grace_period_and_protects_what_others_get_then() {
    // RFC 8881 §8.4.3, the second edge condition.
    let mut world = World::new();
    let (a, _) = (world.holder("a"), world.holder("b"));
    world.open_rw(a.id, "o", 1);
    world.restart();
    world.records.set_full(true);
    let b = world.newcomer("b");
    reclaim(&world, b.id, 2).unwrap();
    live(&mut world, 91);
    assert!(!world.state.in_grace(world.now));
    assert!(world.open(b.id, "o", 1, BOTH).is_err(), "it has not finished");
    world.state.reclaim_complete(world.now, b.id, false).unwrap();
    assert!(world.open(b.id, "o", 1, BOTH).is_ok());
    world.restart();
    assert_eq!(reclaim(&world, world.newcomer("a").id, 1), Err(StateError::NoGrace), "b had it meanwhile");
}

#[test]
fn full_store_lets_what_a_silent_client_holds_go_to_others() {
    let mut world = World::new();
    let (a, b) = (world.holder("a"), world.holder("b"));
    world.open(a.id, "o", 1, (ShareAccess::BOTH, ShareDeny::BOTH)).unwrap();
    world.sleep(91);
    world.flags(b, 1);
    world.records.set_full(true);
    assert!(world.open(b.id, "o", 1, BOTH).is_ok());
    world.restart();
    assert_eq!(reclaim(&world, world.newcomer("a").id, 1), Err(StateError::NoGrace));
}

#[test]
fn grace_period_tells_whom_it_waits_for_and_ends_when_it_is_told_to() {
    let mut world = World::new();
    let _ = (world.holder("a"), world.holder("b"), world.holder("c"));
    world.restart();
    let b = world.newcomer("b");
    world.state.reclaim_complete(world.now, b.id, false).unwrap();
    world.sleep(10);
    let report = world.state.grace_report(world.now, 8).unwrap();
    let mut names: Vec<_> = report.names.iter().map(|(_, name)| name.to_vec()).collect();
    names.sort();
    assert_eq!((report.ends_in.as_secs(), report.waiting_for, names), (80, 2, vec![b"a".to_vec(), b"c".to_vec()]));
    assert_eq!(world.state.grace_report(world.now, 1).unwrap().names.len(), 1);
    assert_eq!(world.state.end_grace(), Ok(true));
    assert_eq!(world.state.grace_report(world.now, 8), None);
    assert_eq!(world.state.end_grace(), Ok(false));
    assert!(world.open(b.id, "o", 1, BOTH).is_ok());
    assert_eq!(records(&world), 1);
}
