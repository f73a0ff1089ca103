//! OPEN, CLOSE, OPEN_DOWNGRADE and stateids (RFC 8881 §8.2, §9, §18.16).

use state::*;

use testing::world::*;

#[test]
fn opens_conflict_by_access_and_deny_both_ways() {
    // RFC 8881 §9.7.
    let cases = [
        (READ, (ShareAccess::READ, ShareDeny::READ), false),
        ((ShareAccess::READ, ShareDeny::WRITE), WRITE, false),
        ((ShareAccess::READ, ShareDeny::WRITE), READ, true),
        ((ShareAccess::WRITE, ShareDeny::READ), (ShareAccess::WRITE, ShareDeny::READ), true),
        (BOTH, BOTH, true),
        (WRITE, (ShareAccess::READ, ShareDeny::WRITE), false),
        ((ShareAccess::READ, ShareDeny::BOTH), READ, false),
    ];
    for (first, second, allowed) in cases {
        let world = World::new();
        let (a, b) = (world.client("a"), world.client("b"));
        world.open(a.id, "o", 1, first).unwrap();
        assert_eq!(world.open(b.id, "o", 1, second).is_ok(), allowed, "{first:?} {second:?}");
        assert_eq!(world.open(a.id, "another owner", 1, second).is_ok(), allowed, "{first:?} {second:?}");
        assert!(world.open(b.id, "o", 2, second).is_ok(), "another file");
    }
}

#[test]
fn second_open_of_an_owner_upgrades_the_first() {
    let world = World::new();
    let client = world.client("c");
    let first = world.open(client.id, "o", 1, WRITE).unwrap().stateid;
    assert_eq!(first.seqid, 1);
    let second = world.open(client.id, "o", 1, READ).unwrap().stateid;
    assert_eq!((second.other, second.seqid), (first.other, 2));
    assert_eq!(world.io(client.id, &second, 1, IoKind::Write), Ok(()));
    assert_eq!(world.io(client.id, &first, 1, IoKind::Read), Err(StateError::OldStateid));
    assert_eq!(world.io(client.id, &Stateid { seqid: 0, ..first }, 1, IoKind::Read), Ok(()));
    assert_eq!(world.io(client.id, &Stateid { seqid: 3, ..first }, 1, IoKind::Read), Err(StateError::BadStateid));
    assert_eq!(world.state.census().opens, 1);
}

#[test]
fn upgrade_that_conflicts_changes_nothing() {
    let world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    let open = world.open(a.id, "o", 1, READ).unwrap().stateid;
    world.open(b.id, "o", 1, (ShareAccess::READ, ShareDeny::WRITE)).unwrap();
    assert_eq!(world.open(a.id, "o", 1, WRITE), Err(StateError::ShareDenied));
    assert_eq!(world.io(a.id, &open, 1, IoKind::Read), Ok(()));
    assert_eq!(world.io(a.id, &open, 1, IoKind::Write), Err(StateError::OpenMode));
}

#[test]
fn downgrade_gives_up_access_and_denial() {
    let world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    world.open(a.id, "o", 1, READ).unwrap();
    let both = world.open(a.id, "o", 1, (ShareAccess::BOTH, ShareDeny::WRITE)).unwrap().stateid;
    assert_eq!(world.open(b.id, "o", 1, WRITE), Err(StateError::ShareDenied));
    let open = StateidScope::V41(a.id).of(&both);
    let refused = world.state.open_downgrade(
        world.now,
        open,
        &key(1),
        Share { access: ShareAccess::WRITE, deny: ShareDeny::NONE },
    );
    assert_eq!(refused, Err(StateError::Inval), "it was never opened like this");
    let read = world
        .state
        .open_downgrade(world.now, open, &key(1), Share { access: ShareAccess::READ, deny: ShareDeny::NONE })
        .unwrap();
    assert_eq!(read.seqid, 3);
    assert_eq!(world.io(a.id, &read, 1, IoKind::Write), Err(StateError::OpenMode));
    assert!(world.open(b.id, "o", 1, WRITE).is_ok());
}

#[test]
fn closed_stateid_is_bad_and_its_share_is_free() {
    let world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    let open = world.open(a.id, "o", 1, (ShareAccess::BOTH, ShareDeny::BOTH)).unwrap().stateid;
    let closed = world.state.close(world.now, StateidScope::V41(a.id), &open, &key(1)).unwrap();
    assert_eq!(closed, Stateid::INVALID);
    assert_eq!(world.io(a.id, &open, 1, IoKind::Read), Err(StateError::BadStateid));
    assert!(world.open(b.id, "o", 1, BOTH).is_ok());
    assert_eq!(world.state.census().owners, 1, "an owner without opens is forgotten");
}

#[test]
fn stateid_is_good_for_its_client_and_file_only() {
    let mut world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    let open = world.open_rw(a.id, "o", 1);
    assert_eq!(world.io(b.id, &open, 1, IoKind::Read), Err(StateError::BadStateid));
    assert_eq!(world.io(a.id, &open, 2, IoKind::Read), Err(StateError::BadStateid));
    assert_eq!(world.io(a.id, &Stateid::INVALID, 1, IoKind::Read), Err(StateError::BadStateid));
    assert_eq!(world.io(a.id, &Stateid::CURRENT, 1, IoKind::Read), Err(StateError::BadStateid));
    assert_eq!(world.state.stateid_file(StateidScope::V41(a.id), &open), Ok(key(1)));
    world.restart();
    assert_eq!(world.io(a.id, &open, 1, IoKind::Read), Err(StateError::BadStateid));
}

#[test]
fn access_without_an_open_respects_reservations() {
    // RFC 8881 §8.2.3, §9.1.2.
    let world = World::new();
    let (a, b) = (world.client("a"), world.client("b"));
    let check = |kind| world.state.conflict_check(world.now, &key(1), kind, Requester::Other);
    assert_eq!(check(AccessKind::Read), Ok(AccessCheck::Proceed));
    let open = world.open(a.id, "o", 1, (ShareAccess::READ, ShareDeny::WRITE)).unwrap().stateid;
    assert_eq!(check(AccessKind::Read), Ok(AccessCheck::Proceed));
    assert_eq!(check(AccessKind::Write), Err(StateError::Locked));
    assert_eq!(check(AccessKind::Change), Ok(AccessCheck::Proceed));
    assert_eq!(world.io(b.id, &Stateid::ANONYMOUS, 1, IoKind::Write), Err(StateError::Locked));
    assert_eq!(world.io(b.id, &Stateid::READ_BYPASS, 1, IoKind::Write), Err(StateError::Locked));
    world.state.close(world.now, StateidScope::V41(a.id), &Stateid { seqid: 0, ..open }, &key(1)).unwrap();
    let open = world.open(a.id, "o", 1, (ShareAccess::READ, ShareDeny::BOTH)).unwrap().stateid;
    assert_eq!(world.io(b.id, &Stateid::ANONYMOUS, 1, IoKind::Read), Err(StateError::Locked));
    assert_eq!(world.io(b.id, &Stateid::READ_BYPASS, 1, IoKind::Read), Ok(()));
    world.state.close(world.now, StateidScope::V41(a.id), &Stateid { seqid: 0, ..open }, &key(1)).unwrap();
    assert_eq!(check(AccessKind::Write), Ok(AccessCheck::Proceed));
}

#[test]
fn owners_own_reservation_denies_it_more_too() {
    // RFC 7530 §9.9, RFC 8881 §9.7.
    let world = World::new();
    let client = world.client("c");
    world.open(client.id, "o", 1, (ShareAccess::BOTH, ShareDeny::READ)).unwrap();
    let again = |access, deny| world.open(client.id, "o", 1, (access, deny)).map(|_| ());
    assert_eq!(again(ShareAccess::READ, ShareDeny::NONE), Err(StateError::ShareDenied));
    assert_eq!(again(ShareAccess::WRITE, ShareDeny::WRITE), Err(StateError::ShareDenied));
    assert_eq!(again(ShareAccess::WRITE, ShareDeny::NONE), Ok(()));
}

#[test]
fn open_before_reclaim_complete_is_refused() {
    // RFC 8881 §18.51.3.
    let world = World::new();
    let client = world.newcomer("c");
    assert_eq!(world.open(client.id, "o", 1, READ), Err(StateError::Grace));
    assert_eq!(world.state.may_open(world.now, client.id, Claim::New), Err(StateError::Grace));
    assert_eq!(world.state.reclaim_complete(world.now, client.id, true), Ok(()));
    assert_eq!(world.state.reclaim_complete(world.now, client.id, false), Ok(()));
    assert_eq!(world.state.reclaim_complete(world.now, client.id, false), Err(StateError::CompleteAlready));
    assert!(world.open(client.id, "o", 1, READ).is_ok());
}

#[test]
fn stateids_are_tested_and_freed() {
    // RFC 8881 §18.38, §18.48.
    let world = World::new();
    let client = world.client("c");
    let scope = StateidScope::V41(client.id);
    let open = world.open_rw(client.id, "o", 1);
    assert_eq!(world.state.test_stateid(world.now, scope, &open), Ok(StateKind::Open));
    assert_eq!(world.state.free_stateid(world.now, scope, &open), Err(StateError::LocksHeld));
    let lock = world.lock_new(client.id, &open, "l", write_lock(1, 0, 10)).unwrap();
    assert_eq!(world.state.test_stateid(world.now, scope, &lock), Ok(StateKind::Lock));
    assert_eq!(world.state.free_stateid(world.now, scope, &lock), Err(StateError::LocksHeld));
    let unlocked = world.state.unlock(world.now, scope.of(&lock), &key(1), ByteRange::WHOLE).unwrap();
    assert_eq!(world.state.free_stateid(world.now, scope, &lock), Err(StateError::OldStateid));
    assert_eq!(world.state.free_stateid(world.now, scope, &unlocked), Ok(()));
    assert_eq!(world.state.test_stateid(world.now, scope, &unlocked), Err(StateError::BadStateid));
}

#[test]
fn state_revoked_by_an_administrator_says_so_until_it_is_freed() {
    let world = World::new();
    let client = world.client("c");
    let (scope, open) = (StateidScope::V41(client.id), world.open_rw(client.id, "o", 1));
    world.state.revoke_by_administrator(world.now, &open).unwrap();
    assert_eq!(world.io(client.id, &open, 1, IoKind::Read), Err(StateError::AdminRevoked));
    assert!(world.flags(client, 1).has(StatusFlags::ADMIN_STATE_REVOKED));
    assert_eq!(world.state.close(world.now, scope, &open, &key(1)), Err(StateError::AdminRevoked));
    world.state.free_stateid(world.now, scope, &open).unwrap();
    assert_eq!(world.flags(client, 2), StatusFlags(0));
}

#[test]
fn limits_of_opens_and_owners_hold() {
    let world = World::with(Limits { opens: 2, owners: 2, ..Limits::default() });
    let client = world.client("c");
    world.open_rw(client.id, "o", 1);
    world.open_rw(client.id, "p", 2);
    assert_eq!(world.open(client.id, "o", 3, READ), Err(StateError::Resource));
    assert_eq!(world.open(client.id, "q", 1, READ), Err(StateError::Resource));
    assert!(world.open(client.id, "o", 1, READ).is_ok(), "an upgrade takes no room");
}
