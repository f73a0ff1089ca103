//! Opens, locks and the current stateid with sessions (RFC 8881 §8, §16.2.3.1.2).

use proto::nfs4::{
    Close, CloseArgs, Component, CreateHow, Delegation, Fattr, FreeStateid, FreeStateidArgs, Getfh, Lock, LockArgs,
    LockType, Locker, Locku, LockuArgs, Open, OpenArgs, OpenClaim, OpenDowngrade, OpenDowngradeArgs, OpenHow, Putfh,
    PutfhArgs, Putrootfh, RESULT_MAY_NOTIFY_LOCK, Read, ReadArgs, Remove, RemoveArgs, ResOr, SHARE_ACCESS_BOTH,
    SHARE_ACCESS_READ, SHARE_DENY_NONE, SHARE_DENY_WRITE, StableHow, StateOwner, Stateid, Status, TestStateid,
    TestStateidArgs, WANT_NO_DELEG, WhyNoDelegation, Write, WriteArgs,
};

use crate::v4::client40::Client40;
use testing::caller::{Caller, memory_server};
use testing::compound::{failure, success};
use testing::session::Session;

fn open<'n>(owner: &'n str, name: &'n str) -> OpenArgs<'n> {
    OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_BOTH,
        share_deny: SHARE_DENY_NONE,
        owner: StateOwner { client: proto::nfs4::ClientId(0), owner: owner.as_bytes() },
        how: OpenHow::Create(CreateHow::Unchecked(Fattr::EMPTY)),
        claim: OpenClaim::Null(Component(name.as_bytes())),
    }
}

fn write(stateid: Stateid) -> WriteArgs<'static> {
    WriteArgs { stateid, offset: 0, stable: StableHow::FileSync, data: b"data" }
}

fn lock(locker: Locker<'_>) -> LockArgs<'_> {
    LockArgs { lock_type: LockType::Write, reclaim: false, offset: 0, length: 10, locker }
}

fn new_locker<'n>(open_stateid: Stateid, owner: &'n str) -> Locker<'n> {
    let owner = StateOwner { client: proto::nfs4::ClientId(0), owner: owner.as_bytes() };
    Locker::New { open_seqid: 0, open_stateid, lock_seqid: 0, owner }
}

#[test]
fn current_stateid_is_the_opens_until_it_is_closed() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let close = CloseArgs { seqid: 0, open_stateid: Stateid::CURRENT };
    let all = session
        .begin()
        .root()
        .op::<Open>(&open("owner", "f"))
        .op::<Write>(&write(Stateid::CURRENT))
        .op::<Read>(&ReadArgs { stateid: Stateid::CURRENT, offset: 0, count: 10 })
        .op::<Close>(&close)
        .op::<Write>(&write(Stateid::CURRENT));
    let mut results = session.call(&all);
    success(results.skip_root().take::<Open>());
    assert_eq!(success(results.take::<Write>()).count, 4);
    let read = success(results.take::<Read>());
    assert_eq!((read.data, read.head.eof), (&b"data"[..], true));
    assert_eq!(success(results.take::<Close>()), Stateid::INVALID);
    assert_eq!(failure(results.take::<Write>()), Status::BadStateid);
}

#[test]
fn another_file_has_no_current_stateid() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let moved = session.begin().root().op::<Open>(&open("owner", "f")).op::<Putrootfh>(&());
    let mut results = session.call(&moved.op::<Write>(&write(Stateid::CURRENT)));
    success(results.skip_root().take::<Open>());
    success(results.take::<Putrootfh>());
    assert_eq!(failure(results.take::<Write>()), Status::BadStateid);
}

#[test]
fn denied_access_is_refused_to_another_owner() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 2);
    let deny = OpenArgs { share_deny: SHARE_DENY_WRITE, ..open("first", "f") };
    success(session.call(&session.begin().root().op::<Open>(&deny)).skip_root().take::<Open>());
    let mut writer = session.call(&session.begin().root().op::<Open>(&open("second", "f")));
    assert_eq!(failure(writer.skip_root().take::<Open>()), Status::ShareDenied);
    let reading = OpenArgs { share_access: SHARE_ACCESS_READ, ..open("second", "f") };
    success(session.call(&session.begin().root().op::<Open>(&reading)).skip_root().take::<Open>());
    let mut anonymous = session.call(&session.begin().root().lookup("f").op::<Write>(&write(Stateid::ANONYMOUS)));
    success(anonymous.skip_root().take::<proto::nfs4::Lookup>());
    assert_eq!(failure(anonymous.take::<Write>()), Status::Locked);
}

#[test]
fn client_that_wants_no_delegation_hears_that_it_was_not_wanted() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let none = OpenArgs { share_access: SHARE_ACCESS_READ | WANT_NO_DELEG, ..open("owner", "f") };
    let opened = success(session.call(&session.begin().root().op::<Open>(&none)).skip_root().take::<Open>());
    assert_eq!(opened.delegation, Delegation::NoneExt(WhyNoDelegation::NotWanted));
}

#[test]
fn lock_of_one_owner_keeps_another_out_until_it_is_unlocked() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let first = session.begin().root().op::<Open>(&open("a", "f")).op::<Lock>(&lock(new_locker(Stateid::CURRENT, "a")));
    let mut results = session.call(&first);
    success(results.skip_root().take::<Open>());
    let ResOr::Ok(held) = results.take::<Lock>() else { panic!("the file is free") };

    let second = || {
        let locker = new_locker(Stateid::CURRENT, "b");
        let mut results = session.call(&session.begin().root().op::<Open>(&open("b", "f")).op::<Lock>(&lock(locker)));
        success(results.skip_root().take::<Open>());
        results.take::<Lock>()
    };
    match second() {
        ResOr::Explained(denied) => assert_eq!((denied.offset, denied.length, denied.owner.owner), (0, 10, &b"a"[..])),
        other => panic!("{other:?}"),
    }
    let unlock = LockuArgs { lock_type: LockType::Write, seqid: 0, stateid: held.stateid, offset: 0, length: 10 };
    let mut unlocked = session.call(&session.begin().root().lookup("f").op::<Locku>(&unlock));
    success(unlocked.skip_root().take::<proto::nfs4::Lookup>());
    success(unlocked.take::<Locku>());
    assert!(matches!(second(), ResOr::Ok(_)));
}

#[test]
fn stateid_in_use_is_tested_well_and_not_freed() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let opened = session.call(&session.begin().root().op::<Open>(&open("a", "f"))).skip_root().take::<Open>();
    let stateid = success(opened).stateid;
    let test = TestStateidArgs { stateids: vec![stateid, Stateid { seqid: 1, other: [0x55; 12] }] };
    let tested = session.call(&session.begin().op::<TestStateid>(&test)).take::<TestStateid>();
    let [good, bad] = success(tested).statuses[..] else { panic!("one status for each stateid") };
    assert_eq!(good, Status::Ok);
    assert!(matches!(bad, Status::BadStateid | Status::StaleStateid), "{bad:?}");
    let free = session.begin().op::<FreeStateid>(&FreeStateidArgs { stateid });
    assert_eq!(failure(session.call(&free).take::<FreeStateid>()), Status::LocksHeld);
}

#[test]
fn stateid_of_another_client_is_a_bad_one() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let opened = session.call(&session.begin().root().op::<Open>(&open("a", "f"))).skip_root().take::<Open>();
    let stateid = success(opened).stateid;
    let other = Session::named(Caller::root(&server), 1, b"another");
    let mut results = other.call(&other.begin().root().lookup("f").op::<Write>(&write(stateid)));
    success(results.skip_root().take::<proto::nfs4::Lookup>());
    assert_eq!(failure(results.take::<Write>()), Status::BadStateid);
}

#[test]
fn name_of_a_file_that_is_open_and_denied_to_others_can_be_removed() {
    // RFC 8881 §18.25.4: a server may answer FILE_OPEN or keep the file for those who have it open.
    let server = memory_server();
    let (holder, other) =
        (Session::named(Caller::root(&server), 1, b"holder"), Session::named(Caller::root(&server), 1, b"other"));
    let args = OpenArgs { share_deny: SHARE_DENY_WRITE, ..open("owner", "f") };
    let opening = holder.begin().root().op::<Open>(&args).op::<Write>(&write(Stateid::CURRENT)).op::<Getfh>(&());
    let mut results = holder.call(&opening);
    let stateid = success(results.skip_root().take::<Open>()).stateid;
    success(results.take::<Write>());
    let file = results.handle();
    let remove = RemoveArgs { target: Component(b"f") };
    success(other.call(&other.begin().root().op::<Remove>(&remove)).skip_root().take::<Remove>());
    let there = || holder.begin().op::<Putfh>(&PutfhArgs { object: file });
    let mut results = holder.call(&there().op::<Read>(&ReadArgs { stateid, offset: 0, count: 4 }));
    success(results.take::<Putfh>());
    assert_eq!(success(results.take::<Read>()).data, b"data");
    let mut results = holder.call(&there().op::<Close>(&CloseArgs { seqid: 0, open_stateid: stateid }));
    success(results.take::<Putfh>());
    assert_eq!(success(results.take::<Close>()), Stateid::INVALID);
}

/// Without the flag, Linux ignores CB_NOTIFY_LOCK.
#[test]
fn open_tells_that_the_server_may_notify_of_locks_where_the_protocol_can() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    let mut results = session.call(&session.begin().root().op::<Open>(&open("owner", "f")));
    assert_ne!(success(results.skip_root().take::<Open>()).flags & RESULT_MAY_NOTIFY_LOCK, 0);
    let old = Client40::new(Caller::root(&server));
    let opened = Client40::opened(&mut old.caller.compound(&old.opening(&old.open("owner", 1, "g"))));
    assert_eq!(opened.flags & RESULT_MAY_NOTIFY_LOCK, 0, "NFSv4.0 has no such flag");
}

#[test]
fn unknown_bits_of_the_access_are_invalid() {
    let server = memory_server();
    let session = Session::new(Caller::root(&server), 1);
    for share_access in [0x8000_0001, 0x701, 0xffff_ffff, 0x4_0001, 0, 0x100] {
        let args = OpenArgs { share_access, ..open("owner", "f") };
        let mut results = session.call(&session.begin().root().op::<Open>(&args));
        assert_eq!(failure(results.skip_root().take::<Open>()), Status::Inval, "{share_access:#x}");
    }
    for share_access in [0x501, 0x3_0203] {
        let args = OpenArgs { share_access, ..open("owner", "f") };
        let downgrade = OpenDowngradeArgs { stateid: Stateid::CURRENT, seqid: 0, share_access: 0x801, share_deny: 0 };
        let both = session.begin().root().op::<Open>(&args).op::<OpenDowngrade>(&downgrade);
        let mut results = session.call(&both);
        success(results.skip_root().take::<Open>());
        assert_eq!(failure(results.take::<OpenDowngrade>()), Status::Inval);
    }
}
