//! Restarts, grace, leases that end, and the courteous server (RFC 8881 §8.3, §8.4).

use state::*;

use testing::world::*;

fn reclaim(world: &World, client: ClientId, file: u64) -> Result<Opened, StateError> {
    let mut args = open_args(client, "o", file, BOTH);
    args.claim = Claim::Previous(None);
    world.state.open(world.now, &args)
}

#[test]
fn recorded_client_reclaims_and_grace_ends_when_all_have() {
    let mut world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    world.open_rw(a.id, "o", 1);
    world.open_rw(b.id, "o", 2);
    world.restart();
    assert!(world.state.in_grace(world.now));
    let (a, b) = (world.newcomer("a"), world.newcomer("b"));
    assert!(world.flags(a, 1).has(StatusFlags::RESTART_RECLAIM_NEEDED));
    assert!(reclaim(&world, a.id, 1).is_ok());
    assert_eq!(world.open(a.id, "o", 3, READ), Err(StateError::Grace));
    world.state.reclaim_complete(world.now, a.id, false).unwrap();
    assert_eq!(reclaim(&world, a.id, 1), Err(StateError::NoGrace));
    assert_eq!(world.open(a.id, "o", 3, READ), Err(StateError::Grace), "b may still reclaim it");
    assert!(reclaim(&world, b.id, 2).is_ok());
    world.state.reclaim_complete(world.now, b.id, false).unwrap();
    assert!(!world.state.in_grace(world.now));
    assert!(world.open(a.id, "o", 3, READ).is_ok());
    assert_eq!(world.flags(a, 2), StatusFlags(0));
}

#[test]
fn grace_ends_by_time_and_forgets_who_did_not_come() {
    let mut world = World::new();
    let _ = (world.holder("a"), world.holder("b"));
    world.restart();
    let b = world.newcomer("b");
    reclaim(&world, b.id, 1).unwrap();
    world.sleep(91);
    world.tick();
    assert!(!world.state.in_grace(world.now));
    let names: Vec<_> = world.records.0.lock().unwrap().iter().map(|record| record.name.clone()).collect();
    assert_eq!(names, [Box::from(*b"b")], "b has reclaimed something");
    assert_eq!(reclaim(&world, world.newcomer("a").id, 2), Err(StateError::NoGrace));
}

#[test]
fn client_without_a_record_may_not_reclaim() {
    let mut world = World::new();
    world.holder("a");
    world.restart();
    assert_eq!(reclaim(&world, world.newcomer("stranger").id, 1), Err(StateError::ReclaimBad));
}

#[test]
fn client_that_missed_a_whole_boot_may_not_reclaim() {
    // RFC 8881 §8.4.3, the second edge condition.
    let mut world = World::new();
    world.holder("a");
    world.restart();
    world.sleep(91);
    let other = world.newcomer("b");
    world.state.reclaim_complete(world.now, other.id, false).unwrap();
    world.open_rw(other.id, "o", 1);
    world.restart();
    assert_eq!(reclaim(&world, world.newcomer("a").id, 1), Err(StateError::ReclaimBad));
}

#[test]
fn client_whose_state_was_taken_unseen_may_not_reclaim() {
    // RFC 8881 §8.4.3, the first edge condition.
    let mut world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    world.open(a.id, "o", 1, (ShareAccess::BOTH, ShareDeny::BOTH)).unwrap();
    world.sleep(91);
    world.flags(b, 1);
    let open = world.open(b.id, "o", 1, BOTH).unwrap().stateid;
    world.state.close(world.now, StateidScope::V41(b.id), &open, &key(1)).unwrap();
    world.restart();
    assert_eq!(reclaim(&world, world.newcomer("a").id, 1), Err(StateError::ReclaimBad));
    assert!(reclaim(&world, world.newcomer("b").id, 2).is_ok());
}

#[test]
fn second_restart_in_grace_loses_nothing() {
    let mut world = World::new();
    let _ = (world.holder("a"), world.holder("b"));
    world.restart();
    reclaim(&world, world.newcomer("a").id, 1).unwrap();
    world.restart();
    assert!(reclaim(&world, world.newcomer("a").id, 1).is_ok());
    assert!(reclaim(&world, world.newcomer("b").id, 2).is_ok());
}

#[test]
fn conflicting_reclaims_are_refused() {
    let mut world = World::new();
    let _ = (world.holder("a"), world.holder("b"));
    world.restart();
    let (a, b) = (world.newcomer("a"), world.newcomer("b"));
    let mut args = open_args(a.id, "o", 1, (ShareAccess::BOTH, ShareDeny::WRITE));
    args.claim = Claim::Previous(None);
    world.state.open(world.now, &args).unwrap();
    assert_eq!(reclaim(&world, b.id, 1), Err(StateError::ReclaimConflict));
}

#[test]
fn locks_and_delegations_are_reclaimed_too() {
    let mut world = World::new();
    world.holder("a");
    world.restart();
    let a = world.newcomer("a").id;
    let mut args = open_args(a, "o", 1, BOTH);
    args.claim = Claim::Previous(Some(DelegationKind::Write));
    let opened = world.state.open(world.now, &args).unwrap();
    assert!(matches!(opened.delegation, DelegationAnswer::Granted { kind: DelegationKind::Write, .. }));
    assert_eq!(world.lock_new(a, &opened.stateid, "l", write_lock(1, 0, 1)), Err(StateError::Grace));
    let wanted = Wanted { reclaim: true, ..write_lock(1, 0, 1) };
    let lock = world.lock_new(a, &opened.stateid, "l", wanted).unwrap();
    world.state.reclaim_complete(world.now, a, false).unwrap();
    assert_eq!(world.lock_more(a, &lock, wanted), Err(StateError::NoGrace));
}

#[test]
fn v40_clients_reclaim_until_the_time_is_over() {
    let mut world = World::new();
    let old = world.client40("c", 1);
    world.open(old, "o", 1, BOTH).unwrap();
    world.restart();
    assert_eq!(reclaim(&world, old, 1), Err(StateError::StaleClientid));
    let client = world.client40("c", 1);
    let opened = reclaim(&world, client, 1).unwrap();
    assert!(!opened.confirm);
    for file in 10..16 {
        world.sleep(9);
        assert!(reclaim(&world, client, file).is_ok(), "it may have more");
    }
    world.sleep(6);
    assert!(world.state.in_grace(world.now));
    world.state.renew(world.now, client).unwrap();
    world.sleep(31);
    assert_eq!(reclaim(&world, client, 3), Err(StateError::NoGrace));
    assert!(world.open(client, "o", 2, READ).is_ok());
}

#[test]
fn late_reclaims_prolong_the_grace_period_but_not_for_ever() {
    let mut world = World::new();
    let _ = (world.holder("a"), world.holder("b"));
    world.restart();
    world.sleep(88);
    let a = world.newcomer("a").id;
    let mut taken = 0;
    for file in 0..200 {
        world.sleep(1);
        world.state.renew(world.now, a).ok();
        taken += u32::from(reclaim(&world, a, file).is_ok());
    }
    assert_eq!(taken, 91, "one a second until twice the grace period is over");
}

#[test]
fn anonymous_access_waits_for_the_end_of_grace() {
    let mut world = World::new();
    world.holder("a");
    world.restart();
    let a = world.newcomer("a").id;
    assert_eq!(world.io(a, &Stateid::ANONYMOUS, 1, IoKind::Write), Err(StateError::Grace));
    world.state.reclaim_complete(world.now, a, false).unwrap();
    assert_eq!(world.io(a, &Stateid::ANONYMOUS, 1, IoKind::Write), Ok(()));
}

#[test]
fn overdue_client_without_conflicts_keeps_its_state() {
    let mut world = World::new();
    let client = world.client("a");
    let open = world.open_rw(client.id, "o", 1);
    let lock = world.lock_new(client.id, &open, "l", write_lock(1, 0, 10)).unwrap();
    world.sleep(3600);
    world.tick();
    assert_eq!(world.flags(client, 1), StatusFlags(0));
    assert_eq!(world.io(client.id, &lock, 1, IoKind::Write), Ok(()));
}

#[test]
fn overdue_client_loses_only_what_others_want() {
    let mut world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    let (first, second) = (world.open_rw(a.id, "o", 1), world.open_rw(a.id, "o", 2));
    let lock = world.lock_new(a.id, &first, "l", write_lock(1, 0, 10)).unwrap();
    world.sleep(91);
    world.flags(b, 1);
    let open_b = world.open_rw(b.id, "o", 1);
    world.lock_new(b.id, &open_b, "l", write_lock(1, 5, 1)).unwrap();
    assert!(world.flags(a, 1).has(StatusFlags::EXPIRED_SOME_STATE_REVOKED));
    assert_eq!(world.io(a.id, &lock, 1, IoKind::Write), Err(StateError::Expired));
    assert_eq!(world.io(a.id, &first, 1, IoKind::Write), Ok(()), "opens did not conflict");
    assert_eq!(world.io(a.id, &second, 2, IoKind::Write), Ok(()));
    world.state.free_stateid(world.now, StateidScope::V41(a.id), &lock).unwrap();
    assert_eq!(world.flags(a, 2), StatusFlags(0));
}

#[test]
fn client_that_lost_everything_is_told_so() {
    let mut world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    let open = world.open(a.id, "o", 1, (ShareAccess::BOTH, ShareDeny::BOTH)).unwrap().stateid;
    world.sleep(91);
    world.flags(b, 1);
    world.open(b.id, "o", 1, BOTH).unwrap();
    assert_eq!(world.flags(a, 1), StatusFlags(StatusFlags::EXPIRED_ALL_STATE_REVOKED));
    assert_eq!(world.io(a.id, &open, 1, IoKind::Read), Err(StateError::Expired));
    assert_eq!(world.state.close(world.now, StateidScope::V41(a.id), &open, &key(1)), Err(StateError::Expired));
}

#[test]
fn courtesy_ends_by_time_and_by_number() {
    let mut world = World::with(Limits { courtesy_clients: 3, ..Limits::default() });
    for name in ["a", "b", "c"] {
        let client = world.client(name);
        world.open_rw(client.id, "o", 1);
    }
    world.sleep(100);
    world.tick();
    world.tick();
    assert!(world.state.census().clients < 3, "three are too many");
    world.sleep(25 * 3600);
    world.tick();
    assert_eq!(world.state.census(), Census::default());
    assert!(world.records.0.lock().unwrap().is_empty(), "they may not reclaim");
}

#[test]
fn overdue_client_without_state_goes_at_once() {
    let mut world = World::new();
    let client = world.client("a");
    world.exchange("unconfirmed", 1, "alice").unwrap();
    world.sleep(91);
    world.tick();
    assert_eq!(world.sequence(client, 0, 1).unwrap_err(), StateError::BadSession);
    assert_eq!(world.state.census().clients, 0);
}

#[test]
fn large_client_is_removed_in_steps_and_stands_in_nobodys_way_meanwhile() {
    let mut world = World::with(Limits { steps: 10, ..Limits::default() });
    let (a, b) = (world.client("a"), world.client("b"));
    for file in 0..100 {
        world.open(a.id, "o", file, (ShareAccess::BOTH, ShareDeny::BOTH)).unwrap();
    }
    let new = world.exchange("a", 2, "alice").unwrap();
    world.create_session(new.client, new.sequence).unwrap();
    assert!(world.open(b.id, "o", 99, BOTH).is_ok());
    assert_eq!(
        world.state.conflict_check(world.now, &key(98), AccessKind::Read, Requester::Other),
        Ok(AccessCheck::Proceed)
    );
    assert!(world.state.tick(world.now));
    assert!(world.state.census().opens > 80);
    world.tick();
    assert_eq!(world.state.census().opens, 1);
    world.sleep(1);
}

#[test]
fn many_overdue_conflicts_are_cleared_over_several_requests() {
    let mut world = World::with(Limits { steps: 10, ..Limits::default() });
    for number in 0..25 {
        let client = world.client(&format!("c{number}"));
        world.open(client.id, "o", 1, WRITE).unwrap();
    }
    world.sleep(91);
    let client = world.client("new");
    let open = || world.open(client.id, "o", 1, (ShareAccess::READ, ShareDeny::WRITE));
    assert_eq!((open().unwrap_err(), open().unwrap_err()), (StateError::Delay, StateError::Delay));
    assert!(open().is_ok());
}

#[test]
fn nothing_is_taken_from_a_client_whose_record_cannot_be_marked() {
    // RFC 8881 §8.4.3: after a restart it would reclaim what somebody else has had.
    let mut world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    let open = world.open(a.id, "o", 1, (ShareAccess::BOTH, ShareDeny::BOTH)).unwrap().stateid;
    world.sleep(91);
    world.flags(b, 1);
    world.records.set_failing(true);
    let refused = world.open(b.id, "o", 1, BOTH);
    assert!(matches!(refused, Err(StateError::Records(_))), "{refused:?}");
    let removed = world.state.revoke_by_administrator(world.now, &open);
    assert!(matches!(removed, Err(StateError::Records(_))), "{removed:?}");
    assert_eq!(world.flags(a, 1), StatusFlags(0));
    assert_eq!(world.io(a.id, &open, 1, IoKind::Write), Ok(()));
    world.sleep(91);
    world.flags(b, 2);
    world.records.set_failing(false);
    assert!(world.open(b.id, "o", 1, BOTH).is_ok());
    assert!(world.records.0.lock().unwrap().iter().any(|record| *record.name == *b"a" && record.revoked));
}

#[test]
fn late_delegation_stays_until_its_clients_record_is_marked() {
    let mut world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    let mut args = open_args(a.id, "o", 1, READ);
    args.want = DelegationWant::Read;
    let DelegationAnswer::Granted { stateid, .. } = world.state.open(world.now, &args).unwrap().delegation else {
        panic!("nothing speaks against it")
    };
    assert_eq!(world.open(b.id, "o", 1, BOTH), Err(StateError::Delay));
    world.sleep(60);
    for client in [a, b] {
        world.flags(client, 1);
    }
    world.sleep(60);
    for client in [a, b] {
        world.flags(client, 2);
    }
    world.records.set_failing(true);
    world.tick();
    assert_eq!(world.io(a.id, &stateid, 1, IoKind::Read), Ok(()));
    assert!(matches!(world.open(b.id, "o", 1, BOTH), Err(StateError::Records(_))));
    world.records.set_failing(false);
    world.tick();
    assert_eq!(world.io(a.id, &stateid, 1, IoKind::Read), Err(StateError::DelegRevoked));
    assert!(world.open(b.id, "o", 1, BOTH).is_ok());
}

#[test]
fn overdue_v40_client_loses_all_when_somebody_wants_a_part() {
    let mut world = World::new();
    let old = world.client40("c", 1);
    world.open(old, "o", 1, (ShareAccess::BOTH, ShareDeny::BOTH)).unwrap();
    let other = world.open(old, "o", 2, BOTH).unwrap().stateid;
    world.sleep(3600);
    assert_eq!(world.state.renew(world.now, old), Ok(()), "nobody wanted anything");
    world.sleep(91);
    let client = world.client("a");
    assert!(world.open(client.id, "o", 1, BOTH).is_ok());
    assert_eq!(world.state.renew(world.now, old), Err(StateError::Expired));
    let io = |stateid| world.state.check_io(world.now, StateidScope::V40.of(stateid), &key(2), IoKind::Read);
    assert_eq!(io(&other), Err(StateError::Expired));
    world.tick();
    assert_eq!(io(&other), Err(StateError::Expired), "even when nothing is left of it");
    assert_ne!(world.client40("c", 1), old, "it starts again");
}

#[test]
fn stateid_of_an_earlier_boot_is_stale_to_v40_and_bad_to_v41() {
    // RFC 7530 §9.1.4.4; RFC 8881 §15.1.16.5.
    let mut world = World::new();
    let stateid = world.open_rw(world.client("a").id, "o", 1);
    let stateid40 = world.open(world.client40("c", 1), "o", 2, BOTH).unwrap().stateid;
    world.restart();
    let a = world.newcomer("a").id;
    assert_eq!(world.io(a, &stateid, 1, IoKind::Read), Err(StateError::BadStateid));
    assert_eq!(world.state.test_stateid(world.now, StateidScope::V41(a), &stateid), Err(StateError::BadStateid));
    assert_eq!(world.state.close(world.now, StateidScope::V41(a), &stateid, &key(1)), Err(StateError::BadStateid));
    let io = world.state.check_io(world.now, StateidScope::V40.of(&stateid40), &key(2), IoKind::Read);
    assert_eq!(io, Err(StateError::StaleStateid));
}
