//! OPENs of names that others make and remove at the same moment (RFC 7530 §16.16.5, RFC 8881 §18.16.3).

use std::sync::Arc;
use std::thread;

use fs_fault::{FaultFs, FaultPlan, Rules};
use proto::nfs3::StableHow;
use proto::nfs4::{
    Attribute, Component, CreateHow, Fattr, Getfh, Open, OpenArgs, OpenClaim, OpenHow, OpenOk, Res, SHARE_ACCESS_BOTH,
    SHARE_ACCESS_WRITE, SHARE_DENY_NONE, StateOwner, Status,
};
use server::Server;

use testing::caller::nfs3::{self, mode};
use testing::caller::{Caller, EXPORT, export, memory, server};
use testing::compound::{failure, success};
use testing::session::Session;

/// A SETATTR of size 0, as O_TRUNC asks for it.
fn emptied() -> Fattr<'static> {
    Fattr { mask: Attribute::set(&[Attribute::Size]), values: &[0; 8] }
}

fn open(attributes: Fattr<'static>) -> OpenArgs<'static> {
    OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_BOTH,
        share_deny: SHARE_DENY_NONE,
        owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"owner" },
        how: OpenHow::Create(CreateHow::Unchecked(attributes)),
        claim: OpenClaim::Null(Component(b"f")),
    }
}

/// A server whose file system meets the rules of a plan, of which there are none at first.
fn faulty() -> (Server, FaultPlan) {
    let plan = FaultPlan::default();
    (server(vec![export(EXPORT, Arc::new(FaultFs::new(memory(), plan.clone())))]), plan)
}

fn rules(text: &str) -> Rules {
    text.parse().unwrap()
}

fn try_open(session: &Session<'_>, args: &OpenArgs<'_>) -> Res<OpenOk<'static>> {
    session.call(&session.begin().root().op::<Open>(args)).skip_root().take::<Open>()
}

#[test]
fn open_that_finds_no_name_and_then_cannot_make_it_takes_the_file_of_the_winner() {
    let (server, faults) = faulty();
    let caller = Caller::root(&server);
    let winner = caller.make_file(&caller.mount(), "f");
    for minor in [1, 2] {
        let session = Session::named(caller, minor, &[minor as u8]);
        faults.replace(rules("lookup(f):error=noentry@1"));
        let mut results = session.call(&session.begin().root().op::<Open>(&open(Fattr::EMPTY)).op::<Getfh>(&()));
        success(results.skip_root().take::<Open>());
        assert_eq!(results.handle().as_bytes(), winner.as_bytes());
    }
}

#[test]
fn loser_of_a_race_is_judged_by_the_mode_of_the_winners_file() {
    let (server, faults) = faulty();
    let root = Caller::root(&server);
    let (alice, bob) = (root.user(1000, 1000, &[]), root.user(2000, 2000, &[]));
    let file = alice.make_file(&alice.mount(), "f");
    nfs3::success(alice.setattr(&file, mode(0o600)));
    let session = Session::named(bob, 1, b"bob");
    for attributes in [Fattr::EMPTY, emptied()] {
        faults.replace(rules("lookup(f):error=noentry@1"));
        assert_eq!(failure(try_open(&session, &open(attributes))), Status::Access);
    }
}

#[test]
fn file_that_is_removed_before_it_is_taken_is_made_anew() {
    let (server, faults) = faulty();
    let caller = Caller::root(&server);
    caller.make_file(&caller.mount(), "f");
    let session = Session::new(caller, 1);
    faults.replace(rules("set_attributes:error=stale@1"));
    success(try_open(&session, &open(emptied())));
    assert_eq!(faults.injected(), 1);
}

#[test]
fn open_that_loses_every_race_is_put_off() {
    let (server, faults) = faulty();
    let session = Session::new(Caller::root(&server), 1);
    faults.replace(rules("create(f):error=exists"));
    assert_eq!(failure(try_open(&session, &open(Fattr::EMPTY))), Status::Delay);
    assert!(faults.injected() < 100, "{} attempts", faults.injected());
}

#[test]
fn two_opens_of_one_new_name_at_once_both_succeed() {
    let (server, faults) = faulty();
    let sessions = [b"one", b"two"].map(|name| Session::named(Caller::root(&server), 1, name));
    faults.replace(rules("create(f):delay=50ms"));
    thread::scope(|scope| {
        for session in sessions {
            scope.spawn(move || success(try_open(&session, &open(Fattr::EMPTY))));
        }
    });
}

#[test]
fn open_that_is_refused_truncates_nothing() {
    let (server, _) = faulty();
    let root = Caller::root(&server);
    let alice = root.user(1000, 1000, &[]);
    let file = alice.make_file(&alice.mount(), "f");
    nfs3::success(alice.write(&file, 0, StableHow::FileSync, b"bytes"));
    nfs3::success(alice.setattr(&file, mode(0o622)));
    let session = Session::named(root.user(2000, 2000, &[]), 1, b"bob");
    assert_eq!(failure(try_open(&session, &open(emptied()))), Status::Access, "he may not read it");
    assert_eq!(alice.attributes(&file).size, 5);
    success(try_open(&session, &OpenArgs { share_access: SHARE_ACCESS_WRITE, ..open(emptied()) }));
    assert_eq!(alice.attributes(&file).size, 0);
}
