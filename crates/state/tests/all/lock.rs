//! Byte-range locks of NFSv4 (RFC 8881 §9, §18.10–12).

use state::*;

use testing::world::*;

fn two(world: &World) -> ((ClientId, Stateid), (ClientId, Stateid)) {
    let (a, b) = (world.client("a").id, world.client("b").id);
    ((a, world.open_rw(a, "o", 1)), (b, world.open_rw(b, "o", 1)))
}

#[test]
fn refused_lock_names_the_one_in_the_way() {
    let world = World::new();
    let ((a, open_a), (b, open_b)) = two(&world);
    world.lock_new(a, &open_a, "la", write_lock(1, 25, 75)).unwrap();
    let Err(StateError::Denied(conflict)) = world.lock_new(b, &open_b, "lb", read_lock(1, 0, 50)) else { panic!() };
    assert_eq!((conflict.client, &*conflict.owner, conflict.exclusive), (Some(a), b"la".as_slice(), true));
    assert_eq!((conflict.range.first(), conflict.range.length()), (25, 75));
    assert_eq!(world.state.census().lock_states, 1, "a refused new owner leaves nothing");
    assert!(world.lock_new(b, &open_b, "lb", write_lock(1, 100, u64::MAX)).is_ok());
}

#[test]
fn lock_stateid_counts_its_changes() {
    let world = World::new();
    let ((a, open), _) = two(&world);
    let first = world.lock_new(a, &open, "l", write_lock(1, 0, 10)).unwrap();
    let second = world.lock_more(a, &first, write_lock(1, 20, 10)).unwrap();
    assert_eq!((first.seqid, second.seqid), (1, 2));
    assert_eq!(world.lock_more(a, &first, write_lock(1, 40, 10)), Err(StateError::OldStateid));
    let third = world.state.unlock(world.now, StateidScope::V41(a).of(&second), &key(1), ByteRange::WHOLE).unwrap();
    assert_eq!(third.seqid, 3);
    assert_eq!(world.state.census().locks, 0);
}

#[test]
fn test_finds_locks_of_others_only() {
    let world = World::new();
    let ((a, open), (b, _)) = two(&world);
    world.lock_new(a, &open, "l", read_lock(1, 0, 10)).unwrap();
    let test = |client, owner: &str, exclusive| {
        let range = ByteRange::nfs4(5, 1).unwrap();
        let args = LockTest { client, owner: owner.as_bytes(), file: key(1), range, exclusive };
        world.state.lock_test(world.now, &args)
    };
    assert_eq!(test(a, "l", true), Ok(()));
    assert_eq!(test(b, "l", false), Ok(()));
    assert!(is_denied(test(b, "l", true)));
    assert!(is_denied(test(a, "another", true)));
}

#[test]
fn lock_needs_an_open_for_its_access() {
    let world = World::new();
    let a = world.client("a").id;
    let open = world.open(a, "o", 1, READ).unwrap().stateid;
    assert_eq!(world.lock_new(a, &open, "l", write_lock(1, 0, 10)), Err(StateError::OpenMode));
    assert!(world.lock_new(a, &open, "l", read_lock(1, 0, 10)).is_ok());
}

#[test]
fn close_releases_the_locks_of_its_open() {
    let world = World::new();
    let ((a, open_a), (b, open_b)) = two(&world);
    let lock = world.lock_new(a, &open_a, "l", write_lock(1, 0, 10)).unwrap();
    world.state.close(world.now, StateidScope::V41(a), &open_a, &key(1)).unwrap();
    assert_eq!(world.io(a, &lock, 1, IoKind::Read), Err(StateError::BadStateid));
    assert!(world.lock_new(b, &open_b, "l", write_lock(1, 0, 10)).is_ok());
}

#[test]
fn upgrade_waits_for_the_other_reader_and_downgrade_lets_it_in() {
    let world = World::new();
    let ((a, open_a), (b, open_b)) = two(&world);
    let lock_a = world.lock_new(a, &open_a, "l", read_lock(1, 0, 10)).unwrap();
    let lock_b = world.lock_new(b, &open_b, "l", read_lock(1, 0, 10)).unwrap();
    assert!(is_denied(world.lock_more(a, &lock_a, write_lock(1, 0, 10))));
    world.state.unlock(world.now, StateidScope::V41(b).of(&lock_b), &key(1), ByteRange::WHOLE).unwrap();
    let lock_a = world.lock_more(a, &lock_a, write_lock(1, 0, 10)).unwrap();
    assert!(is_denied(world.lock_new(b, &open_b, "m", read_lock(1, 5, 1))));
    world.lock_more(a, &lock_a, read_lock(1, 0, 10)).unwrap();
    assert!(world.lock_new(b, &open_b, "m", read_lock(1, 5, 1)).is_ok());
}

#[test]
fn first_who_waits_is_told_and_nobody_who_waits_later_gets_before_it() {
    // RFC 8881 §9.6, §20.11.
    let mut world = World::new();
    let ((a, open_a), (b, open_b)) = two(&world);
    let c = world.client("c").id;
    let open_c = world.open_rw(c, "o", 1);
    let blocking = Wanted { blocking: true, ..write_lock(1, 0, 10) };
    let lock = world.lock_new(a, &open_a, "l", write_lock(1, 0, 10)).unwrap();
    assert!(is_denied(world.lock_new(b, &open_b, "l", blocking)));
    world.state.unlock(world.now, StateidScope::V41(a).of(&lock), &key(1), ByteRange::WHOLE).unwrap();
    assert_eq!(world.events(), [Event::NotifyLock(LockNotice { client: b, owner: (*b"l").into(), file: key(1) })]);
    assert!(is_denied(world.lock_new(c, &open_c, "l", blocking)), "it is kept for b");
    assert!(world.lock_new(b, &open_b, "l", blocking).is_ok());
    // And when b does not come, it is not kept for ever.
    let d = world.client("d").id;
    let open_d = world.open_rw(d, "o", 1);
    assert!(is_denied(world.lock_new(d, &open_d, "l", blocking)));
    world.state.close(world.now, StateidScope::V41(b), &open_b, &key(1)).unwrap();
    assert_eq!(world.events().len(), 1, "c waited longer than d");
    world.sleep(6);
    world.tick();
    assert!(world.lock_new(d, &open_d, "l", blocking).is_ok());
}

#[test]
fn who_waits_behind_a_kept_lock_is_told_when_it_is_not_wanted_any_more() {
    let world = World::new();
    let ((a, open_a), (b, open_b)) = two(&world);
    let c = world.client("c").id;
    let open_c = world.open_rw(c, "o", 1);
    let lock_a = world.lock_new(a, &open_a, "l", write_lock(1, 0, 100)).unwrap();
    let lock_b = world.lock_new(b, &open_b, "l", write_lock(1, 1000, 1)).unwrap();
    let wait = |offset, length| Wanted { blocking: true, ..write_lock(1, offset, length) };
    assert!(is_denied(world.lock_more(b, &lock_b, wait(0, 100))));
    assert!(is_denied(world.lock_new(c, &open_c, "l", wait(90, 10))));
    world.state.unlock(world.now, StateidScope::V41(a).of(&lock_a), &key(1), ByteRange::WHOLE).unwrap();
    let notice = |client| Event::NotifyLock(LockNotice { client, owner: (*b"l").into(), file: key(1) });
    assert_eq!(world.events(), [notice(b)], "it is kept for b, who waited longer");
    // What b wants now does not touch what c waits for.
    world.lock_more(b, &lock_b, write_lock(1, 0, 10)).unwrap();
    assert_eq!(world.events(), [notice(c)]);
}

#[test]
fn circle_of_waiting_owners_is_refused() {
    let world = World::new();
    let ((a, open_a), (b, open_b)) = two(&world);
    let lock_a = world.lock_new(a, &open_a, "l", write_lock(1, 0, 1)).unwrap();
    let lock_b = world.lock_new(b, &open_b, "l", write_lock(1, 1, 1)).unwrap();
    let wait = |offset| Wanted { blocking: true, ..write_lock(1, offset, 1) };
    for _ in 0..2 {
        assert!(is_denied(world.lock_more(a, &lock_a, wait(1))));
    }
    assert_eq!(world.lock_more(b, &lock_b, wait(0)), Err(StateError::Deadlock));
}

/// A client of NFSv4 that gives up says nothing; one that waits repeats its request.
#[test]
fn owner_that_gave_up_waiting_is_in_no_circle() {
    let mut world = World::new();
    let ((a, open_a), (b, open_b)) = two(&world);
    let lock_a = world.lock_new(a, &open_a, "l", write_lock(1, 0, 1)).unwrap();
    let lock_b = world.lock_new(b, &open_b, "l", write_lock(1, 1, 1)).unwrap();
    let wait = |offset| Wanted { blocking: true, ..write_lock(1, offset, 1) };
    for _ in 0..2 {
        assert!(is_denied(world.lock_more(a, &lock_a, wait(1))));
        world.sleep(1);
    }
    // It gave up here.
    for _ in 0..3 {
        assert!(is_denied(world.lock_more(b, &lock_b, wait(0))));
        world.sleep(1);
    }
    assert_eq!(world.lock_more(a, &lock_a, wait(1)), Err(StateError::Deadlock), "it did not, and b repeats");
}

#[test]
fn lock_is_not_kept_for_a_client_that_stopped_polling_or_cannot_be_notified() {
    let mut world = World::new();
    let ((a, open_a), _) = two(&world);
    let old = world.client40("old", 1);
    let open_old = world.open_rw(old, "o", 1);
    world.state.open_confirm(world.now, &open_old, &key(1)).unwrap();
    let blocking = Wanted { blocking: true, ..write_lock(1, 0, 10) };
    let scope = StateidScope::V40;
    let open_old = Stateid { seqid: open_old.seqid + 1, ..open_old };
    let locker = Locker::New { open: &open_old, owner: b"l" };
    let lock = world.lock_new(a, &open_a, "l", write_lock(1, 0, 10)).unwrap();
    assert!(is_denied(world.state.lock(world.now, &lock_args(scope, locker, blocking))));
    world.sleep(10);
    world.state.unlock(world.now, StateidScope::V41(a).of(&lock), &key(1), ByteRange::WHOLE).unwrap();
    assert!(world.lock_new(a, &open_a, "m", blocking).is_ok(), "a client that polls would have come");
}

#[test]
fn lock_is_not_kept_for_a_client_whose_notification_failed() {
    let world = World::new();
    let ((a, open_a), (b, open_b)) = two(&world);
    let blocking = Wanted { blocking: true, ..write_lock(1, 0, 10) };
    let lock = world.lock_new(a, &open_a, "l", write_lock(1, 0, 10)).unwrap();
    assert!(is_denied(world.lock_new(b, &open_b, "l", blocking)));
    world.state.unlock(world.now, StateidScope::V41(a).of(&lock), &key(1), ByteRange::WHOLE).unwrap();
    let [Event::NotifyLock(notice)] = &world.events()[..] else { panic!("b waits") };
    assert!(is_denied(world.lock_new(a, &open_a, "m", blocking)), "it is kept for b");
    world.state.lock_notice_failed(world.now, notice);
    assert!(world.lock_new(a, &open_a, "m", blocking).is_ok());
}

#[test]
fn range_limit_of_a_file_holds() {
    let world = World::with(Limits { locks_per_file: 2, ..Limits::default() });
    let ((a, open), _) = two(&world);
    let lock = world.lock_new(a, &open, "l", write_lock(1, 0, 1)).unwrap();
    let lock = world.lock_more(a, &lock, write_lock(1, 10, 1)).unwrap();
    assert_eq!(world.lock_more(a, &lock, write_lock(1, 20, 1)), Err(StateError::Resource));
}

#[test]
fn holes_in_a_lock_count_as_locks() {
    let world = World::with(Limits { locks_per_file: 3, ..Limits::default() });
    let ((a, open), _) = two(&world);
    let lock = world.lock_new(a, &open, "l", write_lock(1, 0, 100)).unwrap();
    let unlock = |lock: &Stateid, offset, length| {
        let range = ByteRange::nfs4(offset, length).unwrap();
        world.state.unlock(world.now, StateidScope::V41(a).of(lock), &key(1), range)
    };
    let lock = unlock(&lock, 10, 1).unwrap();
    assert_eq!(world.lock_more(a, &lock, read_lock(1, 20, 1)), Err(StateError::Resource), "it would be four");
    let lock = unlock(&lock, 20, 1).unwrap();
    assert_eq!(unlock(&lock, 30, 1), Err(StateError::Resource));
    assert_eq!(world.state.census().locks, 3);
    let lock = unlock(&lock, 11, 9).unwrap();
    assert!(unlock(&lock, 30, 1).is_ok());
    let nlm = |offset, length| {
        let range = ByteRange::nlm(offset, length).unwrap();
        NlmLock { host: b"h", origin: origin(1), owner: b"p", file: key(2), range, exclusive: true }
    };
    world.state.nlm_lock(world.now, &nlm(0, 0), NlmMode::Now).unwrap();
    (1..3).for_each(|at| world.state.nlm_unlock(world.now, &nlm(10 * at, 1)).unwrap());
    assert_eq!(world.state.nlm_unlock(world.now, &nlm(30, 1)), Err(StateError::Resource));
}

#[test]
fn limits_of_lock_stateids_and_of_all_ranges_hold() {
    let world = World::with(Limits { lock_states: 1, locks: 2, ..Limits::default() });
    let ((a, open), _) = two(&world);
    let lock = world.lock_new(a, &open, "l", write_lock(1, 0, 1)).unwrap();
    assert_eq!(world.lock_new(a, &open, "another", write_lock(1, 5, 1)), Err(StateError::Resource));
    let lock = world.lock_more(a, &lock, write_lock(1, 10, 1)).unwrap();
    assert_eq!(world.lock_more(a, &lock, write_lock(1, 20, 1)), Err(StateError::Resource));
}

#[test]
fn limit_of_lock_stateids_of_a_file_holds_without_locks_too() {
    let world = World::with(Limits { locks_per_file: 3, ..Limits::default() });
    let ((a, open), _) = two(&world);
    for owner in ["l", "m", "n"] {
        let lock = world.lock_new(a, &open, owner, write_lock(1, 0, 1)).unwrap();
        world.state.unlock(world.now, StateidScope::V41(a).of(&lock), &key(1), ByteRange::WHOLE).unwrap();
    }
    assert_eq!(world.lock_new(a, &open, "o", write_lock(1, 0, 1)), Err(StateError::Resource));
    assert_eq!(
        (world.state.census().lock_states, world.state.census().owners),
        (3, 5),
        "what is refused leaves nothing"
    );
}
