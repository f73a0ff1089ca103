//! Restarts of hosts.

use proto::nlm::{FreeAll, FreeAllArgs, Status, V4};
use proto::nsm::{Mon, MonArgs, MonId, MyId, Notify, NotifyArgs, Outcome, SimuCrash, Stat, StatArgs, Unmon};
use rpc::Rejection;

use crate::caller::{Caller, memory_server};
use crate::host::Process;

#[test]
fn host_that_restarted_has_no_locks_and_others_keep_theirs() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let gone = Process::new(caller, "box", 1, file);
    let stays = Process { caller: caller.from("192.0.2.2:700"), name: "box", ..gone };
    let asks = Process { caller: caller.from("192.0.2.3:700"), name: "asks", ..gone };
    for round in 0..2 {
        assert_eq!(gone.lock(0, 10), Status::Granted);
        stays.lock(10, 10);
        if round == 0 {
            gone.caller.call::<Notify>(&NotifyArgs { name: b"box.example.org", state: 5 });
        } else {
            gone.caller.call::<FreeAll<V4>>(&FreeAllArgs { name: b"box", state: 0 });
        }
        assert_eq!(asks.lock(0, 10), Status::Granted);
        assert_eq!(asks.lock(10, 10), Status::Denied);
        asks.unlock(0, 0);
    }
}

#[test]
fn nobody_is_told_that_another_host_restarted() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let held = Process::new(caller, "box", 1, file);
    held.lock(0, 10);
    caller.from("192.0.2.2:700").call::<Notify>(&NotifyArgs { name: b"box", state: 5 });
    caller.call::<Notify>(&NotifyArgs { name: b"crate", state: 5 });
    assert_eq!(Process { svid: 2, ..held }.lock(0, 10), Status::Denied);
}

#[test]
fn hosts_are_watched_for_nobody_else() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let stat = caller.call::<Stat>(&StatArgs { name: b"other" });
    assert_eq!((stat.outcome, stat.state & 1), (Outcome::Failure, 1), "a server that is up has an odd state");
    let me = MyId { name: b"me", program: 1, version: 1, procedure: 1 };
    let id = MonId { name: b"other", caller: me };
    assert_eq!(caller.call::<Mon>(&MonArgs { id, private: [0; 16] }), stat);
    assert_eq!(caller.call::<Unmon>(&id).0, stat.state);
    assert_eq!(caller.rejected::<SimuCrash>(&()), Rejection::ProcedureUnavailable);
}
