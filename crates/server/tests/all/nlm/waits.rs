//! Locks that clients wait for.

use proto::nlm::{
    Granted, GrantedMsg, GrantedRes, LockMsg, LockRes, NetObj, Res, Status, TestArgs, UnlockMsg, UnlockRes, V1, V4,
};
use server::{Destination, Server};

use crate::nlm::host::{COOKIE, How, PORT, Process, Sent, status};
use testing::caller::{Caller, memory_server};

const BLOCK: How = How { block: true, shared: false, reclaim: false, state: 0 };

/// Two processes, of which the first has a lock that the second waits for.
fn held_and_wanted(server: &Server) -> (Process<'_>, Process<'_>) {
    let caller = Caller::root(server);
    let file = caller.make_file(&caller.mount(), "file");
    let held = Process::new(caller, "box", 1, file);
    let wanted = Process { caller: caller.from("192.0.2.2:800"), name: "crate", svid: 2, ..held };
    assert_eq!(held.lock(0, 10), Status::Granted);
    assert_eq!(wanted.lock_as::<V4>(0, 10, BLOCK), Status::Blocked);
    assert!(Sent::next(&caller).is_none());
    (held, wanted)
}

fn answer(sent: &Sent, caller: &Caller<'_>, status: Status) {
    let cookie = sent.arguments::<Granted<V4>>().cookie;
    sent.answer(caller, &Res { cookie, status });
}

fn is_held(by_other: Process<'_>) -> bool {
    let asks = Process { svid: 99, ..by_other };
    let denied = asks.lock(0, 10) == Status::Denied;
    if !denied {
        asks.unlock(0, 10);
    }
    denied
}

#[test]
fn client_that_waits_is_called_when_its_lock_is_free() {
    let server = memory_server();
    let (held, wanted) = held_and_wanted(&server);
    held.unlock(0, 10);
    let sent = Sent::next(&wanted.caller).unwrap();
    assert_eq!(sent.to, Destination::Tcp(format!("192.0.2.2:{PORT}").parse().unwrap()));
    let args = sent.arguments::<Granted<V4>>();
    assert_eq!((args.lock, args.exclusive), (wanted.range(0, 10), true));
    answer(&sent, &wanted.caller, Status::Granted);
    assert!(is_held(held));
    assert!(Sent::next(&wanted.caller.later(500)).is_none(), "it knows");
    server.tick(wanted.caller.later(500).now);
    assert!(is_held(held));
}

#[test]
fn client_is_called_with_its_version_over_its_transport() {
    let server = memory_server();
    let (held, wanted) = held_and_wanted(&server);
    let old = Process { caller: wanted.caller.over_udp(), svid: 3, ..wanted };
    assert_eq!(old.lock_as::<V1>(5, 0, BLOCK), Status::Blocked);
    wanted.cancel(0, 10);
    held.unlock(0, 10);
    let sent = Sent::next(&old.caller).unwrap();
    let to = format!("192.0.2.2:{PORT}").parse().unwrap();
    assert_eq!(sent.to, Destination::Udp { local: old.caller.peer.local, to });
    assert_eq!(sent.arguments::<Granted<V1>>().lock, old.range(5, 0));
}

#[test]
fn lock_that_is_refused_when_it_comes_is_free_again() {
    let server = memory_server();
    let (held, wanted) = held_and_wanted(&server);
    held.unlock(0, 10);
    let sent = Sent::next(&wanted.caller).unwrap();
    assert!(is_held(held));
    answer(&sent, &wanted.caller, Status::Denied);
    assert!(!is_held(held));
}

#[test]
fn client_that_does_not_answer_is_called_again_and_loses_the_lock_in_the_end() {
    let server = memory_server();
    let (held, wanted) = held_and_wanted(&server);
    held.unlock(0, 10);
    let mut calls = 0;
    for second in 0..85 {
        let caller = wanted.caller.later(second);
        server.tick(caller.now);
        while Sent::next(&caller).is_some() {
            calls += 1;
        }
    }
    assert_eq!(calls, 9);
    assert!(is_held(held));
    server.tick(wanted.caller.later(91).now);
    assert!(!is_held(held));
}

#[test]
fn client_in_its_grace_period_is_called_again_soon() {
    let server = memory_server();
    let (held, wanted) = held_and_wanted(&server);
    held.unlock(0, 10);
    answer(&Sent::next(&wanted.caller).unwrap(), &wanted.caller, Status::DeniedGracePeriod);
    let later = wanted.caller.later(4);
    server.tick(later.now);
    assert!(Sent::next(&later).unwrap().is::<Granted<V4>>());
    assert!(is_held(held));
}

#[test]
fn wait_that_is_cancelled_brings_no_lock() {
    let server = memory_server();
    let (held, wanted) = held_and_wanted(&server);
    assert_eq!(wanted.cancel(0, 10), Status::Granted);
    assert_eq!(wanted.cancel(0, 10), Status::Denied);
    held.unlock(0, 10);
    assert!(Sent::next(&held.caller).is_none());
    assert!(!is_held(held));
}

#[test]
fn cancel_that_crosses_the_grant_gives_the_lock_back() {
    for is_sent in [false, true] {
        let server = memory_server();
        let (held, wanted) = held_and_wanted(&server);
        held.unlock(0, 10);
        let sent = if is_sent { Sent::next(&wanted.caller) } else { None };
        assert_eq!(wanted.cancel(0, 10), Status::Granted, "sent: {is_sent}");
        assert!(!is_held(held));
        assert_eq!(wanted.lock(0, 10), Status::Granted);
        if let Some(sent) = sent {
            answer(&sent, &wanted.caller, Status::Denied);
        }
        assert!(Sent::next(&wanted.caller).is_none());
        assert!(is_held(held), "a late refusal of the first lock does not end the second one");
    }
}

#[test]
fn client_that_asks_again_has_its_lock_and_needs_no_call() {
    let server = memory_server();
    let (held, wanted) = held_and_wanted(&server);
    assert_eq!(wanted.lock_as::<V4>(0, 10, BLOCK), Status::Blocked);
    held.unlock(0, 10);
    assert_eq!(wanted.lock_as::<V4>(0, 10, BLOCK), Status::Granted);
    assert!(Sent::next(&wanted.caller).is_none());
    server.tick(wanted.caller.later(500).now);
    assert!(is_held(held));
}

#[test]
fn waiting_in_a_circle_is_refused() {
    let server = memory_server();
    let (held, wanted) = held_and_wanted(&server);
    assert_eq!(wanted.lock(20, 10), Status::Granted);
    assert_eq!(held.lock_as::<V4>(20, 10, BLOCK), Status::Deadlock);
}

#[test]
fn messages_are_answered_by_messages() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let [held, wanted] = [1, 2].map(|svid| Process::new(caller, "box", svid, file));
    held.lock(0, 10);
    caller.call::<LockMsg<V4>>(&wanted.lock_args::<V4>(0, 10, BLOCK));
    let sent = Sent::next(&caller).unwrap();
    assert_eq!(status(sent.arguments::<LockRes<V4>>()), Status::Blocked);
    caller.call::<UnlockMsg<V4>>(&proto::nlm::UnlockArgs { cookie: COOKIE, lock: held.range(0, 10) });
    let (one, two) = (Sent::next(&caller).unwrap(), Sent::next(&caller).unwrap());
    let (granted, unlocked) = if one.is::<UnlockRes<V4>>() { (two, one) } else { (one, two) };
    assert_eq!(status(unlocked.arguments::<UnlockRes<V4>>()), Status::Granted);
    let cookie = granted.arguments::<GrantedMsg<V4>>().cookie;
    let refusal = Res { cookie, status: Status::Denied };
    caller.from("192.0.2.3:800").call::<GrantedRes<V4>>(&refusal);
    assert!(is_held(held), "that was somebody else");
    caller.call::<GrantedRes<V4>>(&refusal);
    assert!(!is_held(held));
}

#[test]
fn server_that_waits_for_no_lock_refuses_one() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let process = Process::new(caller, "box", 1, file);
    let args = TestArgs { cookie: COOKIE, exclusive: true, lock: process.range(0, 10) };
    assert_eq!(status(caller.call::<Granted<V4>>(&args)), Status::Denied);
    caller.call::<GrantedMsg<V4>>(&args);
    assert_eq!(status(Sent::next(&caller).unwrap().arguments::<GrantedRes<V4>>()), Status::Denied);
    caller.call::<GrantedRes<V4>>(&Res { cookie: NetObj(b"no number"), status: Status::Denied });
}

#[test]
fn host_that_restarted_waits_no_longer() {
    let server = memory_server();
    let (held, wanted) = held_and_wanted(&server);
    wanted.caller.call::<proto::nsm::Notify>(&proto::nsm::NotifyArgs { name: b"crate", state: 5 });
    held.unlock(0, 10);
    assert!(Sent::next(&wanted.caller).is_none());
    assert!(!is_held(held));
}

#[test]
fn waits_of_one_client_leave_waits_to_others() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let files: Vec<_> = (0..20).map(|number| caller.make_file(&root, &format!("file {number}"))).collect();
    let held: Vec<Process<'_>> = files.iter().map(|file| Process::new(caller, "box", 1, *file)).collect();
    held.iter().for_each(|held| assert_eq!(held.lock(0, 0), Status::Granted));
    let mut waits = 0;
    for held in &held {
        let hostile = Process { caller: caller.from("192.0.2.66:800"), name: "hostile", svid: 2, ..*held };
        // A file has room for 1024 waits.
        waits += (0..1_000).take_while(|at| hostile.lock_as::<V4>(2 * at, 1, BLOCK) == Status::Blocked).count();
    }
    assert_eq!(waits, 8_192);
    let witness = Process { caller: caller.from("192.0.2.2:800"), name: "crate", svid: 3, ..held[19] };
    assert_eq!(witness.lock_as::<V4>(0, 10, BLOCK), Status::Blocked);
    held[19].unlock(0, 0);
    assert_eq!(Sent::next(&witness.caller).map(|sent| sent.is::<Granted<V4>>()), Some(true));
}
