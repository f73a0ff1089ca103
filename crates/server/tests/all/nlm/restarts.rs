//! Restarts of hosts, and of the server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fs_mem::MemFs;
use proto::nlm::{FreeAll, FreeAllArgs, Status, TestReply, V4};
use proto::nsm::{Mon, MonArgs, MonId, MonResult, MyId, Notify, NotifyArgs, SimuCrash, Stat, StatArgs, Unmon};
use rpc::Rejection;
use server::{Destination, Server, Settings, Transport};
use state::{ClientRecord, ClientRecords, RecordKind, RecordsError};

use crate::nlm::host::{How, PORT, Process, Sent};
use testing::caller::{Caller, EXPORT, export, memory, memory_server, settings};

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
fn restart_that_is_told_twice_frees_locks_once() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let held = Process::new(caller, "box", 1, caller.make_file(&caller.mount(), "file"));
    let other = Process { svid: 2, ..held };
    held.lock(0, 10);
    for (state, answer) in [(5, Status::Granted), (5, Status::Denied), (7, Status::Granted)] {
        caller.call::<Notify>(&NotifyArgs { name: b"box", state });
        assert_eq!(other.lock(0, 10), answer, "state {state}");
        other.unlock(0, 10);
        held.lock(0, 10);
    }
}

/// A late datagram of an earlier restart; a host that has lost its number begins again with a low one.
#[test]
fn earlier_restart_that_is_told_late_frees_no_locks() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let held = Process::new(caller, "box", 1, caller.make_file(&caller.mount(), "file"));
    let other = Process { svid: 2, ..held };
    held.lock(0, 10);
    let told = [(0, 7, Status::Granted), (1, 5, Status::Denied), (2, 9, Status::Granted), (3, 7, Status::Denied)];
    for (seconds, state, answer) in told.into_iter().chain([(7200, 1, Status::Granted)]) {
        caller.later(seconds).call::<Notify>(&NotifyArgs { name: b"box", state });
        assert_eq!(other.lock(0, 10), answer, "state {state}");
        other.unlock(0, 10);
        held.lock(0, 10);
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
    assert_eq!((stat.outcome, stat.state & 1), (MonResult::Failure, 1), "a server that is up has an odd state");
    let me = MyId { name: b"me", program: 1, version: 1, procedure: 1 };
    let id = MonId { name: b"other", caller: me };
    assert_eq!(caller.call::<Mon>(&MonArgs { id, private: [0; 16] }), stat);
    assert_eq!(caller.call::<Unmon>(&id).0, stat.state);
    assert_eq!(caller.rejected::<SimuCrash>(&()), Rejection::ProcedureUnavailable);
}

/// Records that outlive a server.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<ClientRecord>>>);

impl ClientRecords for Records {
    fn load(&mut self) -> Result<Vec<ClientRecord>, RecordsError> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn add(&mut self, record: &ClientRecord) -> Result<(), RecordsError> {
        self.0.lock().unwrap().push(record.clone());
        Ok(())
    }

    fn remove(&mut self, names: &[(RecordKind, &[u8])]) -> Result<(), RecordsError> {
        self.0.lock().unwrap().retain(|record| !names.contains(&(record.kind, &*record.name)));
        Ok(())
    }

    fn mark(&mut self, _: RecordKind, _: &[u8], _: bool) -> Result<(), RecordsError> {
        panic!("nothing is revoked here");
    }

    fn give_up(&mut self) -> Result<(), RecordsError> {
        panic!("this store does not fail");
    }
}

/// The server's start number `boot` over the same files.
fn start(files: &Arc<MemFs>, records: &Records, boot: u64) -> Server {
    let settings = Settings { instance: boot << 32, ..settings() };
    let mut server = Server::new(settings, vec![export(EXPORT, files.clone())]).unwrap();
    server.keep_clients(Box::new(records.clone())).unwrap();
    let address = "192.0.2.100:2049".parse().unwrap();
    server.registry().set(proto::nfs3::PROGRAM, proto::nfs3::VERSION, Transport::Udp, address);
    server
}

const RECLAIM: How = How { block: false, shared: false, reclaim: true, state: 0 };

/// A client of a server that started again, which held a lock before; the time is that of the start.
fn after_restart<'s>(server: &'s Server, before: &Process<'_>) -> Process<'s> {
    let caller = Caller { server, now: Duration::from_secs(1), ..Caller::root(server) };
    Process { caller, ..Process::new(caller, before.name, before.svid, before.file) }
}

#[test]
fn clients_that_held_locks_are_told_of_the_restart_until_they_answer_and_reclaim_them() {
    let (files, records) = (memory(), Records::default());
    let first = start(&files, &records, 7);
    let caller = Caller::root(&first);
    let before = Process::new(caller, "box", 1, caller.make_file(&caller.mount(), "file"));
    assert_eq!(before.lock(0, 10), Status::Granted);
    let state = caller.call::<Stat>(&StatArgs { name: b"" }).state;

    let second = start(&files, &records, 8);
    let client = after_restart(&second, &before);
    for round in 0..2 {
        let later = client.caller.later(12 * round);
        second.tick(later.now);
        let sent = std::iter::from_fn(|| Sent::next(&later)).last().unwrap();
        let to = format!("192.0.2.1:{PORT}").parse().unwrap();
        assert_eq!(sent.to, Destination::Udp { local: "192.0.2.100:2049".parse().unwrap(), to });
        let told = sent.arguments::<Notify>();
        assert_eq!((told.name, told.state & 1, told.state > state), (&b"192.0.2.100"[..], 1, true));
    }
    assert_eq!(client.lock(20, 10), Status::DeniedGracePeriod);
    assert_eq!(client.test::<V4>(20, 10), TestReply::Other(Status::DeniedGracePeriod));
    assert_eq!(client.lock_as::<V4>(0, 10, RECLAIM), Status::Granted);
    let later = Process { caller: client.caller.later(100), ..client };
    second.tick(later.caller.now);
    assert!(Sent::next(&later.caller).is_none(), "it knows");
    assert_eq!(later.lock_as::<V4>(0, 10, RECLAIM), Status::Denied, "the time to reclaim is over");
    assert_eq!(Process { svid: 2, ..later }.lock(0, 10), Status::Denied);
}
