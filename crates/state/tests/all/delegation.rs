//! Delegations: the policy, recall, return and revocation (RFC 8881 §10.2, §10.4).

use state::*;

use testing::world::*;

fn delegated(world: &World, client: ClientId, file: u64, how: (ShareAccess, ShareDeny)) -> DelegationAnswer {
    let mut args = open_args(client, "o", file, how);
    args.want = DelegationWant::Any;
    args.change = 41;
    world.state.open(world.now, &args).unwrap().delegation
}

fn granted(answer: DelegationAnswer) -> (Stateid, DelegationKind) {
    match answer {
        DelegationAnswer::Granted { stateid, kind } => (stateid, kind),
        other => panic!("{other:?}"),
    }
}

const CONTENTION: DelegationAnswer = DelegationAnswer::Refused(WhyNoDelegation::Contention);

#[test]
fn open_for_reading_gets_a_read_delegation_and_any_other_a_write_delegation() {
    let world = World::new();
    let client = world.client("c").id;
    let (stateid, kind) = granted(delegated(&world, client, 1, READ));
    assert_eq!((kind, stateid.seqid), (DelegationKind::Read, 1));
    assert_eq!(world.io(client, &stateid, 1, IoKind::Read), Ok(()));
    assert_eq!(world.io(client, &stateid, 1, IoKind::Write), Err(StateError::OpenMode));
    assert_eq!(granted(delegated(&world, client, 2, BOTH)).1, DelegationKind::Write);
}

#[test]
fn wishes_are_heard() {
    let world = World::new();
    let client = world.client("c").id;
    let ask = |want, file| {
        let mut args = open_args(client, "o", file, READ);
        args.want = want;
        world.state.open(world.now, &args).unwrap().delegation
    };
    assert_eq!(ask(DelegationWant::None, 1), DelegationAnswer::Refused(WhyNoDelegation::NotWanted));
    assert_eq!(ask(DelegationWant::Cancel, 1), DelegationAnswer::Refused(WhyNoDelegation::Cancelled));
    assert_eq!(granted(ask(DelegationWant::Write, 1)).1, DelegationKind::Write);
    world.state.connection_closed(1);
    assert_eq!(ask(DelegationWant::Any, 2), DelegationAnswer::Refused(WhyNoDelegation::Resource));
    assert_eq!(ask(DelegationWant::NoPreference, 3), DelegationAnswer::None);
}

#[test]
fn files_that_others_use_are_not_delegated() {
    let world = World::new();
    let (a, b) = (world.client("a").id, world.client("b").id);
    world.open(a, "o", 1, WRITE).unwrap();
    assert_eq!(delegated(&world, b, 1, READ), CONTENTION);
    world.open(a, "o", 2, READ).unwrap();
    assert_eq!(delegated(&world, b, 2, BOTH), CONTENTION);
    let world = World::new();
    let (a, b) = (world.client("a").id, world.client("b").id);
    granted(delegated(&world, a, 1, READ));
    assert_eq!(granted(delegated(&world, b, 1, READ)).1, DelegationKind::Read, "readers share");
    assert_eq!(delegated(&world, b, 1, READ), CONTENTION, "once per client");
}

#[test]
fn conflicting_open_recalls_and_waits_until_the_return() {
    let world = World::new();
    let (a, b) = (world.client("a").id, world.client("b").id);
    let (stateid, _) = granted(delegated(&world, a, 1, READ));
    assert!(world.open(b, "o", 1, READ).is_ok(), "readers do not conflict");
    assert_eq!(world.open(b, "o", 1, WRITE), Err(StateError::Delay));
    assert_eq!(world.open(b, "o", 1, WRITE), Err(StateError::Delay));
    let recall = Recall { client: a, stateid, file: key(1), handle: (*b"handle").into() };
    assert_eq!(world.events(), [Event::Recall(recall)], "asked once");
    world.state.delegreturn(world.now, StateidScope::V41(a), &stateid, &key(1)).unwrap();
    assert!(world.open(b, "o", 1, WRITE).is_ok());
    assert_eq!(
        world.state.delegreturn(world.now, StateidScope::V41(a), &stateid, &key(1)),
        Err(StateError::BadStateid)
    );
}

#[test]
fn share_reservation_refuses_before_anything_is_recalled() {
    let world = World::new();
    let (a, b) = (world.client("a").id, world.client("b").id);
    granted(delegated(&world, a, 1, (ShareAccess::READ, ShareDeny::WRITE)));
    assert_eq!(world.open(b, "o", 1, WRITE), Err(StateError::ShareDenied));
    assert_eq!(world.events(), []);
}

#[test]
fn own_delegation_is_not_in_the_way() {
    let world = World::new();
    let a = world.client("a").id;
    granted(delegated(&world, a, 1, READ));
    assert!(world.open(a, "another", 1, BOTH).is_ok());
    let check = |who| world.state.conflict_check(world.now, &key(1), AccessKind::Write, who);
    assert_eq!(check(Requester::Client(a)), Ok(AccessCheck::Proceed));
    assert_eq!(world.events(), []);
}

#[test]
fn changes_by_other_protocols_recall() {
    let world = World::new();
    let a = world.client("a").id;
    let check = |file, kind| world.state.conflict_check(world.now, &key(file), kind, Requester::Other).unwrap();
    granted(delegated(&world, a, 1, READ));
    assert_eq!(check(1, AccessKind::Read), AccessCheck::Proceed);
    assert_eq!(check(1, AccessKind::Change), AccessCheck::Wait);
    granted(delegated(&world, a, 2, BOTH));
    assert_eq!(check(2, AccessKind::Read), AccessCheck::Wait);
    assert_eq!(world.events().len(), 2);
}

#[test]
fn recalled_file_is_not_delegated_again_for_a_while() {
    let mut world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    let (stateid, _) = granted(delegated(&world, a.id, 1, READ));
    world.open(b.id, "o", 1, WRITE).unwrap_err();
    world.state.delegreturn(world.now, StateidScope::V41(a.id), &stateid, &key(1)).unwrap();
    assert_eq!(delegated(&world, a.id, 1, READ), CONTENTION);
    world.sleep(61);
    assert_eq!(granted(delegated(&world, a.id, 1, READ)).1, DelegationKind::Read);
}

#[test]
fn delegation_that_is_not_returned_is_revoked_and_says_so_until_it_is_freed() {
    // RFC 8881 §10.4.6, §18.38.
    let mut world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    let scope = StateidScope::V41(a.id);
    let (stateid, _) = granted(delegated(&world, a.id, 1, READ));
    for number in 1..=2 {
        assert_eq!(world.open(b.id, "o", 1, WRITE), Err(StateError::Delay));
        world.sleep(50);
        world.flags(a, number);
        world.flags(b, number);
    }
    world.tick();
    assert!(world.open(b.id, "o", 1, WRITE).is_ok());
    assert_eq!(world.io(a.id, &stateid, 1, IoKind::Read), Err(StateError::DelegRevoked));
    assert_eq!(world.state.test_stateid(world.now, scope, &stateid), Err(StateError::DelegRevoked));
    assert_eq!(world.flags(a, 3), StatusFlags(StatusFlags::RECALLABLE_STATE_REVOKED));
    assert_eq!(world.state.delegreturn(world.now, scope, &stateid, &key(1)), Err(StateError::DelegRevoked));
    assert!(world.records.0.lock().unwrap().iter().any(|record| record.revoked));
    world.state.free_stateid(world.now, scope, &stateid).unwrap();
    assert_eq!(world.flags(a, 4), StatusFlags(0));
    assert!(!world.records.0.lock().unwrap().iter().any(|record| record.revoked));
}

/// A client with delegations of the files 1, 2 and 3, of which the first was revoked. The client sends requests.
fn with_a_revoked_one(world: &mut World) -> (Client, [Stateid; 3]) {
    let (a, b) = (world.client("a"), world.client("b"));
    let held = [1, 2, 3].map(|file| granted(delegated(world, a.id, file, READ)).0);
    for number in 1..=2 {
        assert_eq!(world.open(b.id, "o", 1, WRITE), Err(StateError::Delay));
        world.sleep(50);
        world.flags(a, number);
        world.flags(b, number);
    }
    world.tick();
    assert_eq!(world.flags(a, 3), StatusFlags(StatusFlags::RECALLABLE_STATE_REVOKED));
    (a, held)
}

#[test]
fn client_that_leaves_a_revoked_delegation_out_while_it_tests_its_others_is_told_of_it_no_more() {
    let mut world = World::new();
    let (a, [gone, second, third]) = with_a_revoked_one(&mut world);
    let test = |stateid| world.state.test_stateid(world.now, StateidScope::V41(a.id), stateid);
    for stateid in [&second, &third, &second] {
        test(stateid).unwrap();
    }
    assert_eq!(world.flags(a, 4), StatusFlags(0));
    assert_eq!(test(&gone), Err(StateError::BadStateid));
    assert!(!world.records.0.lock().unwrap().iter().any(|record| record.revoked));
}

#[test]
fn client_that_knows_a_revoked_delegation_is_told_of_it_until_it_frees_it() {
    let mut world = World::new();
    let (a, [gone, second, third]) = with_a_revoked_one(&mut world);
    let scope = StateidScope::V41(a.id);
    for _ in 0..3 {
        for stateid in [&third, &gone, &second] {
            let status = if *stateid == gone { Err(StateError::DelegRevoked) } else { Ok(StateKind::ReadDelegation) };
            assert_eq!(world.state.test_stateid(world.now, scope, stateid), status);
        }
    }
    assert_eq!(world.flags(a, 4), StatusFlags(StatusFlags::RECALLABLE_STATE_REVOKED));
    world.state.free_stateid(world.now, scope, &gone).unwrap();
    assert_eq!(world.flags(a, 5), StatusFlags(0));
}

#[test]
fn revoked_delegation_that_a_client_does_not_free_for_two_leases_is_forgotten_if_the_client_is_there() {
    let mut world = World::new();
    let (a, _) = with_a_revoked_one(&mut world);
    for number in 4..=6 {
        world.sleep(50);
        world.tick();
        assert_eq!(world.flags(a, number), StatusFlags(StatusFlags::RECALLABLE_STATE_REVOKED));
    }
    world.sleep(50);
    world.tick();
    assert_eq!(world.flags(a, 7), StatusFlags(0));
}

#[test]
fn recall_is_sent_again_over_a_new_callback_path() {
    let world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    granted(delegated(&world, a.id, 1, READ));
    world.open(b.id, "o", 1, WRITE).unwrap_err();
    assert_eq!(world.events().len(), 1);
    world.state.destroy_session(&a.session, 1).unwrap();
    world.create_session(a.id, 2).unwrap();
    assert_eq!(world.events().len(), 1);
}

#[test]
fn open_under_a_delegation_does_not_recall_it() {
    // RFC 8881 §18.16.3, CLAIM_DELEGATE_CUR: while the recall is in progress.
    let world = World::new();
    let (a, b) = (world.client("a").id, world.client("b").id);
    let (stateid, _) = granted(delegated(&world, a, 1, BOTH));
    world.open(b, "o", 1, READ).unwrap_err();
    let mut args = open_args(a, "local", 1, BOTH);
    args.claim = Claim::DelegateCurrent(stateid);
    assert!(world.state.open(world.now, &args).is_ok());
    args.file = key(2);
    assert_eq!(world.state.open(world.now, &args), Err(StateError::BadStateid));
    args.claim = Claim::DelegatePrevious;
    assert_eq!(world.state.open(world.now, &args), Err(StateError::NotSupp));
}

#[test]
fn write_delegation_tells_whom_to_ask_for_attributes() {
    // RFC 8881 §10.4.3.
    let world = World::new();
    let (a, b) = (world.client("a").id, world.client("b").id);
    let (stateid, _) = granted(delegated(&world, a, 1, BOTH));
    let ask = |who| world.state.write_delegation(&key(1), who);
    assert_eq!(ask(Requester::Client(a)), None);
    let handle: Box<[u8]> = (*b"handle").into();
    let expected = WriteDelegation { client: a, stateid, handle, change: 41 };
    assert_eq!(ask(Requester::Client(b)), Some(expected.clone()));
    assert_eq!(ask(Requester::Other), Some(expected));
}

#[test]
fn limit_of_delegations_holds() {
    let world = World::with(Limits { delegations: 1, ..Limits::default() });
    let a = world.client("a").id;
    granted(delegated(&world, a, 1, READ));
    assert_eq!(delegated(&world, a, 2, READ), DelegationAnswer::Refused(WhyNoDelegation::Resource));
}
