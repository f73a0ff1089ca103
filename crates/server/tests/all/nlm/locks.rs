//! Locks without waiting.

use proto::nlm::{Holder, NetObj, Null, Status, TestReply, Unlock, UnlockArgs, V1, V3, V4};
use rpc::Rejection;

use server::Answer;

use crate::nlm::host::{COOKIE, How, Process, status};
use testing::caller::{Caller, Said, memory_server, procedure, results};

const SHARED: How = How { block: false, shared: true, reclaim: false, state: 0 };

#[test]
fn versions_1_3_and_4_answer_and_others_do_not() {
    let server = memory_server();
    let caller = Caller::root(&server);
    caller.call::<Null<V1>>(&());
    caller.call::<Null<V3>>(&());
    caller.over_udp().call::<Null<V4>>(&());
    let mut other = procedure::<Null<V4>>();
    other.version = 2;
    let reply = caller.reply_to(&caller.message_of(other, &()));
    assert_eq!(testing::caller::rejection(&reply), Rejection::ProgramMismatch { low: 1, high: 4 });
}

#[test]
fn locks_of_all_versions_meet() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let [one, two] = [1, 2].map(|svid| Process::new(caller, "box", svid, file));
    assert_eq!(one.lock_as::<V1>(0, 10, How::default()), Status::Granted);
    assert_eq!(two.lock_as::<V3>(9, 1, SHARED), Status::Denied);
    assert_eq!(two.lock(5, 0), Status::Denied);
    assert_eq!(two.lock(10, 5 << 32), Status::Granted);
    assert_eq!(one.lock_as::<V3>(0, 5, How::default()), Status::Granted, "it is its own lock");
    assert_eq!(one.unlock_as::<V1>(0, 0), Status::Granted);
    assert_eq!(two.lock_as::<V1>(9, 1, SHARED), Status::Granted);
    assert_eq!(one.lock_as::<V4>(9, 1, SHARED), Status::Granted);
    assert_eq!(one.unlock(0, 100), Status::Granted);
    assert_eq!(one.unlock(0, 100), Status::Granted, "nothing is locked there");
}

/// Linux numbers the processes of a mount of NFSv2 and those of one of NFSv3 each from 1 on.
#[test]
fn processes_of_the_same_number_on_mounts_of_nfsv2_and_nfsv3_exclude_each_other() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let process = Process::new(caller, "box", 1, file);
    assert_eq!(process.lock_as::<V1>(0, 10, How::default()), Status::Granted);
    assert_eq!(process.lock_as::<V4>(0, 10, SHARED), Status::Denied);
    let held = Holder { exclusive: true, svid: 1, owner: NetObj(b"owner"), offset: 0, length: 10 };
    assert_eq!(process.test::<V4>(0, 10), TestReply::Denied(held));
    assert_eq!(process.unlock_as::<V4>(0, 10), Status::Granted);
    assert_eq!(process.lock_as::<V4>(0, 10, SHARED), Status::Denied, "it gave up no lock of the other process");
    assert_eq!(process.unlock_as::<V1>(0, 10), Status::Granted);
    assert_eq!(process.lock_as::<V4>(0, 10, SHARED), Status::Granted);
}

#[test]
fn test_tells_the_lock_in_the_way_as_the_version_can_say_it() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let [one, two] = [1, 2].map(|svid| Process::new(caller, "box", svid, file));
    assert_eq!(one.lock(7, 5 << 32), Status::Granted);
    assert_eq!(one.test::<V4>(0, 0), TestReply::Other(Status::Granted), "its own lock is in nobody's way");
    let held = Holder { exclusive: true, svid: 1, owner: NetObj(b"owner"), offset: 7, length: 5 << 32 };
    assert_eq!(two.test::<V4>(0, 0), TestReply::Denied(held));
    let held = Holder { exclusive: true, svid: 1, owner: NetObj(b"owner"), offset: 7, length: u32::MAX };
    assert_eq!(two.test::<V1>(0, 0), TestReply::Denied(held));
    assert_eq!(two.test::<V3>(0, 7), TestReply::Other(Status::Granted));
    assert_eq!(two.lock(0, 7), Status::Granted, "a test takes no lock");
}

#[test]
fn process_of_another_host_or_with_another_address_of_the_server_is_another_one() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let one = Process::new(caller, "box", 1, file);
    assert_eq!(one.lock(0, 10), Status::Granted);
    assert_eq!(Process { name: "crate", ..one }.lock(0, 10), Status::Denied);
    assert_eq!(Process { caller: caller.from("192.0.2.2:700"), ..one }.lock(0, 10), Status::Denied);
    assert_eq!(Process { caller: caller.to("192.0.2.101:2049"), ..one }.lock(0, 10), Status::Denied);
    assert_eq!(Process { caller: caller.from("192.0.2.1:999").over_udp(), ..one }.lock(0, 10), Status::Granted);
}

#[test]
fn unlock_that_comes_again_late_does_not_end_a_new_lock() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let one = Process::new(caller, "box", 1, file);
    let args = UnlockArgs { cookie: COOKIE, lock: one.range(0, 10) };
    let unlock = caller.message::<Unlock<V4>>(&args);
    one.lock(0, 10);
    let first = caller.reply_to(&unlock);
    one.lock(0, 10);
    assert!(matches!(caller.send(&unlock), Said::Reply(again) if again == first));
    assert_eq!(Process { svid: 2, ..one }.lock(0, 10), Status::Denied);
}

#[test]
fn cancel_of_what_nobody_waits_for_is_denied() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    assert_eq!(Process::new(caller, "box", 1, file).cancel(0, 10), Status::Denied);
}

#[test]
fn name_that_is_too_long_to_be_kept_gets_no_locks() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let name = "x".repeat(1000).leak();
    assert_eq!(Process::new(caller, name, 1, file).lock(0, 10), Status::DeniedNoLocks);
}

#[test]
fn unlock_of_very_many_ranges_keeps_no_event_loop_busy() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let [one, two] = [1, 2].map(|svid| Process::new(caller, "box", svid, file));
    (0..5_000).for_each(|at| assert_eq!(one.lock(10 * at, 1), Status::Granted));
    let message = caller.message::<Unlock<V4>>(&UnlockArgs { cookie: COOKIE, lock: one.range(0, 0) });
    assert!(matches!(caller.on_event_loop().send(&message), Said::Nothing(Answer::WouldBlock(_))));
    assert_eq!(status(results::<Unlock<V4>>(&caller.reply_to(&message))), Status::Granted);
    assert_eq!(two.lock(0, 0), Status::Granted);
}
