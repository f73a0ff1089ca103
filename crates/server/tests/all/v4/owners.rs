//! NFSv4.0's clients and the sequences of their owners (RFC 7530 §9.1).

use proto::nfs4::{
    Close, CloseArgs, Component, Create, CreateArgs, CreateType, Getfh, Lock, LockArgs, LockType, Locker, Lockt,
    LocktArgs, Locku, LockuArgs, Open, OpenConfirm, OpenConfirmArgs, OpenDowngrade, OpenDowngradeArgs, RESULT_CONFIRM,
    Read, ReadArgs, ReleaseLockowner, ReleaseLockownerArgs, Renew, RenewArgs, ResOr, SHARE_ACCESS_READ,
    SHARE_DENY_NONE, SHARE_DENY_WRITE, Setclientid, SetclientidConfirm, SetclientidConfirmArgs, StableHow, Stateid,
    Status, Write, WriteArgs,
};

use crate::v4::client40::{Client40, setclientid};
use testing::caller::{Caller, memory_server};
use testing::compound::{COMPOUND, Compound, Results, failure, success};

/// Everything from the start of a file on.
const WHOLE: (u64, u64) = (0, u64::MAX);

fn lock(locker: Locker<'_>) -> LockArgs<'_> {
    LockArgs { lock_type: LockType::Write, reclaim: false, offset: WHOLE.0, length: WHOLE.1, locker }
}

fn first_lock<'n>(client: &Client40<'_>, open: Stateid, owner: &'n str) -> LockArgs<'n> {
    lock(Locker::New { open_seqid: 3, open_stateid: open, lock_seqid: 1, owner: client.owner(owner) })
}

fn write(stateid: Stateid) -> WriteArgs<'static> {
    WriteArgs { stateid, offset: 0, stable: StableHow::FileSync, data: b"data" }
}

#[test]
fn client_id_is_confirmed_by_what_setclientid_told_and_by_nothing_else() {
    let server = memory_server();
    let client = Client40::new(Caller::root(&server));
    let wrong = SetclientidConfirmArgs { client: client.id, confirm: [0xee; 8] };
    let mut results = client.caller.compound(&Compound::new(0).op::<SetclientidConfirm>(&wrong));
    assert_eq!(failure(results.take::<SetclientidConfirm>()), Status::StaleClientid);
}

#[test]
fn client_of_another_user_is_in_use_and_its_address_is_not_told() {
    let server = memory_server();
    let client = Client40::new(Caller::root(&server));
    client.open_confirmed("owner", "f");
    let other = client.caller.user(1000, 1000, &[]);
    let mut results = other.compound(&Compound::new(0).op::<Setclientid>(&setclientid(b"the client", [2; 8])));
    match results.take::<Setclientid>() {
        ResOr::Explained(holder) => assert_eq!((holder.netid, holder.address), (&b""[..], &b""[..])),
        other => panic!("{other:?}"),
    }
}

#[test]
fn callback_path_is_tried_once_however_often_it_is_confirmed() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let set = |verifier| {
        let set = Compound::new(0).op::<Setclientid>(&setclientid(b"the client", verifier));
        let ResOr::Ok(ok) = caller.compound(&set).take::<Setclientid>() else { panic!("SETCLIENTID failed") };
        let confirm = SetclientidConfirmArgs { client: ok.client, confirm: ok.confirm };
        Compound::new(0).op::<SetclientidConfirm>(&confirm)
    };
    let calls = || std::iter::from_fn(|| server.next_transmit(caller.now)).count();
    let confirm = set([1; 8]);
    (0..100).for_each(|_| success(caller.compound(&confirm).take::<SetclientidConfirm>()));
    assert_eq!(calls(), 1);
    let update = set([1; 8]);
    (0..100).for_each(|_| success(caller.compound(&update).take::<SetclientidConfirm>()));
    assert_eq!(calls(), 1, "a new callback path is tried");
    let others = 2_000;
    for number in 0..others {
        let name = format!("client {number}");
        Client40::named(caller, name.as_bytes());
    }
    assert_eq!(calls(), 254, "of all that one address confirms, 256 may wait for an answer");
}

#[test]
fn renew_of_a_client_that_does_not_exist_is_stale() {
    let server = memory_server();
    let client = Client40::new(Caller::root(&server));
    let renew = |id| Compound::new(0).op::<Renew>(&RenewArgs { client: id });
    success(client.caller.compound(&renew(client.id)).take::<Renew>());
    let unknown = proto::nfs4::ClientId(client.id.0 ^ 1 << 40);
    assert_eq!(failure(client.caller.compound(&renew(unknown)).take::<Renew>()), Status::StaleClientid);
}

#[test]
fn first_open_of_an_owner_must_be_confirmed_before_it_is_used() {
    let server = memory_server();
    let client = Client40::new(Caller::root(&server));
    let opened = Client40::opened(&mut client.caller.compound(&client.opening(&client.open("owner", 1, "f"))));
    assert_ne!(opened.flags & RESULT_CONFIRM, 0);
    let mut early = client.call(&Client40::at("f").op::<Write>(&write(opened.stateid)));
    assert_eq!(failure(early.take::<Write>()), Status::BadStateid);

    let confirm = OpenConfirmArgs { stateid: opened.stateid, seqid: 2 };
    let confirmed = success(client.call(&Client40::at("f").op::<OpenConfirm>(&confirm)).take::<OpenConfirm>());
    assert_eq!((confirmed.seqid, confirmed.other), (opened.stateid.seqid + 1, opened.stateid.other));
    success(client.call(&Client40::at("f").op::<Write>(&write(confirmed))).take::<Write>());

    let second = Client40::opened(&mut client.caller.compound(&client.opening(&client.open("owner", 3, "g"))));
    assert_eq!(second.flags & RESULT_CONFIRM, 0, "the owner is confirmed, not the open");
}

#[test]
fn repeated_open_gets_its_reply_and_the_operations_behind_it_the_opened_file() {
    let server = memory_server();
    let client = Client40::new(Caller::root(&server));
    client.open_confirmed("owner", "f");
    let again = client.opening(&client.open("owner", 3, "g"));
    let (mut first, mut second) = (client.caller.compound(&again), client.caller.compound(&again));
    let (opened, repeated) = (Client40::opened(&mut first), Client40::opened(&mut second));
    assert_eq!(opened, repeated);
    assert_eq!(first.handle(), second.handle());
}

#[test]
fn repeated_failure_of_an_open_is_repeated_though_it_would_succeed_by_now() {
    let server = memory_server();
    let client = Client40::new(Caller::root(&server));
    client.open_confirmed("owner", "f");
    let existing = proto::nfs4::OpenArgs { how: proto::nfs4::OpenHow::NoCreate, ..client.open("owner", 3, "g") };
    let open = client.opening(&existing);
    assert_eq!(failure(client.caller.compound(&open).skip_root().take::<Open>()), Status::NoEnt);
    client.open_confirmed("another", "g");
    assert_eq!(failure(client.caller.compound(&open).skip_root().take::<Open>()), Status::NoEnt);
}

#[test]
fn number_out_of_sequence_is_a_bad_seqid_and_leaves_the_sequence_where_it_is() {
    let server = memory_server();
    let client = Client40::new(Caller::root(&server));
    let stateid = client.open_confirmed("owner", "f");
    for seqid in [1, 4, 77] {
        let open = client.opening(&client.open("owner", seqid, "g"));
        assert_eq!(failure(client.caller.compound(&open).skip_root().take::<Open>()), Status::BadSeqid, "{seqid}");
    }
    let close = Client40::at("f").op::<Close>(&CloseArgs { seqid: 3, open_stateid: stateid });
    success(client.call(&close).take::<Close>());
}

#[test]
fn closed_open_is_closed_again_by_the_same_number_only() {
    let server = memory_server();
    let client = Client40::new(Caller::root(&server));
    let stateid = client.open_confirmed("owner", "f");
    let close = |seqid| Client40::at("f").op::<Close>(&CloseArgs { seqid, open_stateid: stateid });
    let closed = success(client.call(&close(3)).take::<Close>());
    assert_eq!(success(client.call(&close(3)).take::<Close>()), closed);
    assert_eq!(failure(client.call(&close(4)).take::<Close>()), Status::BadStateid);
    let mut late = client.call(&Client40::at("f").op::<Write>(&write(closed)));
    assert_eq!(failure(late.take::<Write>()), Status::BadStateid);
}

#[test]
fn downgraded_open_writes_no_more() {
    let server = memory_server();
    let client = Client40::new(Caller::root(&server));
    client.open_confirmed("owner", "f");
    let reading = proto::nfs4::OpenArgs { share_access: SHARE_ACCESS_READ, ..client.open("owner", 3, "f") };
    let stateid = Client40::opened(&mut client.caller.compound(&client.opening(&reading))).stateid;
    let to = |seqid, share_deny| OpenDowngradeArgs { stateid, seqid, share_access: SHARE_ACCESS_READ, share_deny };
    let mut refused = client.call(&Client40::at("f").op::<OpenDowngrade>(&to(4, SHARE_DENY_WRITE)));
    assert_eq!(failure(refused.take::<OpenDowngrade>()), Status::Inval, "nobody ever asked for that");
    let mut granted = client.call(&Client40::at("f").op::<OpenDowngrade>(&to(5, SHARE_DENY_NONE)));
    let stateid = success(granted.take::<OpenDowngrade>());
    let mut write = client.call(&Client40::at("f").op::<Write>(&write(stateid)));
    assert_eq!(failure(write.take::<Write>()), Status::OpenMode);
    let read = ReadArgs { stateid, offset: 0, count: 4 };
    success(client.call(&Client40::at("f").op::<Read>(&read)).take::<Read>());
}

#[test]
fn first_lock_stands_in_both_owners_sequences_and_the_next_in_the_lock_owners() {
    let server = memory_server();
    let client = Client40::new(Caller::root(&server));
    let open = client.open_confirmed("owner", "f");
    let first = Client40::at("f").op::<Lock>(&first_lock(&client, open, "locker"));
    let ResOr::Ok(locked) = client.call(&first).take::<Lock>() else { panic!("the file is free") };
    let ResOr::Ok(repeated) = client.call(&first).take::<Lock>() else { panic!("a repeated LOCK is answered") };
    assert_eq!(locked, repeated);

    let next = |lock_seqid| {
        let locker = Locker::Existing { lock_stateid: locked.stateid, lock_seqid };
        Client40::at("f").op::<Lock>(&lock(locker))
    };
    assert_eq!(client.call(&next(7)).take::<Lock>(), ResOr::Fail(Status::BadSeqid));
    let ResOr::Ok(again) = client.call(&next(2)).take::<Lock>() else { panic!("the owner has the lock") };
    let unlock = |seqid| LockuArgs {
        lock_type: LockType::Write,
        seqid,
        stateid: again.stateid,
        offset: WHOLE.0,
        length: WHOLE.1,
    };
    let unlocked = success(client.call(&Client40::at("f").op::<Locku>(&unlock(3))).take::<Locku>());
    assert_eq!(unlocked.seqid, again.stateid.seqid + 1);
    let close = Client40::at("f").op::<Close>(&CloseArgs { seqid: 4, open_stateid: open });
    success(client.call(&close).take::<Close>());
}

#[test]
fn lock_of_another_client_is_denied_and_its_holder_told_also_when_repeated() {
    let server = memory_server();
    let holder = Client40::new(Caller::root(&server));
    let open = holder.open_confirmed("owner", "f");
    holder.call(&Client40::at("f").op::<Lock>(&first_lock(&holder, open, "holder")));

    let other = Client40::named(Caller::root(&server), b"another client");
    let open = other.open_confirmed("owner", "f");
    let wanted = Client40::at("f").op::<Lock>(&first_lock(&other, open, "late"));
    for _ in 0..2 {
        let ResOr::Explained(denied) = other.call(&wanted).take::<Lock>() else { panic!("the file is locked") };
        assert_eq!((denied.owner, denied.offset, denied.length), (holder.owner("holder"), WHOLE.0, WHOLE.1));
    }
    let test = LocktArgs { lock_type: LockType::Read, offset: 5, length: 1, owner: other.owner("late") };
    let ResOr::Explained(denied) = other.call(&Client40::at("f").op::<Lockt>(&test)).take::<Lockt>() else {
        panic!("the file is locked")
    };
    assert_eq!(denied.owner, holder.owner("holder"));
}

#[test]
fn lock_owner_is_released_only_without_locks() {
    let server = memory_server();
    let client = Client40::new(Caller::root(&server));
    let open = client.open_confirmed("owner", "f");
    let first = Client40::at("f").op::<Lock>(&first_lock(&client, open, "locker"));
    let ResOr::Ok(locked) = client.call(&first).take::<Lock>() else { panic!("the file is free") };
    let release = || {
        let arguments = ReleaseLockownerArgs { owner: client.owner("locker") };
        client.caller.compound(&Compound::new(0).op::<ReleaseLockowner>(&arguments)).take::<ReleaseLockowner>()
    };
    assert_eq!(failure(release()), Status::LocksHeld);
    let unlock =
        LockuArgs { lock_type: LockType::Write, seqid: 2, stateid: locked.stateid, offset: WHOLE.0, length: WHOLE.1 };
    success(client.call(&Client40::at("f").op::<Locku>(&unlock)).take::<Locku>());
    success(release());
}

#[test]
fn open_of_a_client_that_does_not_exist_is_stale() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let nobody = Client40 { caller, id: proto::nfs4::ClientId(77) };
    let mut results = caller.compound(&nobody.opening(&nobody.open("owner", 1, "f")));
    assert_eq!(failure(results.skip_root().take::<Open>()), Status::StaleClientid);
    let mut absent = caller.compound(&Compound::new(0).root().lookup("f").op::<Getfh>(&()));
    assert_eq!(failure(absent.skip_root().take::<proto::nfs4::Lookup>()), Status::NoEnt, "no file is left behind");
}

#[test]
fn change_without_a_number_is_not_carried_out_twice_for_one_call() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let directory =
        CreateArgs { kind: CreateType::Directory, name: Component(b"d"), attributes: proto::nfs4::Fattr::EMPTY };
    let message = caller.message_of(COMPOUND, &Compound::new(0).root().op::<Create>(&directory));
    let first = caller.reply_to(&message);
    success(Results::parse(&first).skip_root().take::<Create>());
    assert_eq!(caller.reply_to(&message), first);
}
