//! A server that is killed with calls unanswered, and started again: what the clients hear when they send the calls
//! again.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fs_fault::{FaultFs, FaultPlan};
use fs_host::HostFs;
use fs_mem::MemFs;
use proto::nfs3::{
    Create, CreateHow, FileHandle, Link, LinkArgs, Mkdir, MkdirArgs, Remove, RemoveArgs, Rename, RenameArgs, Rmdir,
    RmdirArgs, Symlink, SymlinkArgs,
};
use server::Server;
use vfs::FileSystem;

use crate::programs::replay::{calls, is_success};
use testing::caller::nfs3::{at, mode, success};
use testing::caller::records::{ANSWERED, BEGUN, Records, started, started_after_power_failure};
use testing::caller::ticketed::Ticketed;
use testing::caller::{Caller, Directory, EXPORT, export, memory, server, settings};

/// A client of a server that was started just now.
fn caller(server: &Server) -> Caller<'_> {
    Caller { now: Duration::from_secs(1), ..Caller::root(server) }
}

/// All calls that change names.
fn name_calls(caller: &Caller<'_>, root: &FileHandle) -> Vec<(&'static str, Vec<u8>)> {
    calls(caller, root).into_iter().filter(|(name, _)| *name != "SETATTR").collect()
}

/// A server of `file_system` on which no change of names gets through: what is killed before the change.
fn stuck(file_system: Arc<MemFs>) -> Arc<dyn FileSystem> {
    let rules = "make_node:error=io,create:error=io,link:error=io,remove:error=io,remove_dir:error=io,rename:error=io";
    let plan: FaultPlan = rules.parse().unwrap();
    Arc::new(FaultFs::new(file_system, plan))
}

#[test]
fn call_that_was_carried_out_and_not_answered_succeeds_when_it_is_sent_again() {
    let files = memory();
    let (killed, log) = started(files.clone(), &[]);
    let caller_before = caller(&killed);
    for (name, message) in name_calls(&caller_before, &caller_before.mount()) {
        log.clear();
        assert!(is_success(&caller_before.reply_to(&message)), "{name}");
        assert_eq!(log.kinds(), [BEGUN, ANSWERED], "{name}");
        let (restarted, _) = started(files.clone(), &log.without_the_reply());
        assert!(is_success(&caller(&restarted).reply_to(&message)), "{name} again");
        let (unaware, _) = started(files.clone(), &[]);
        assert!(!is_success(&caller(&unaware).reply_to(&message)), "{name} without the log");
    }
}

/// The reply log may have lost everything with the power.
#[test]
fn call_whose_change_the_write_log_has_succeeds_when_it_is_sent_again_after_a_power_failure() {
    let files = Ticketed::new(memory());
    let (killed, log) = started(files.clone(), &[]);
    let caller_before = caller(&killed);
    for (name, message) in name_calls(&caller_before, &caller_before.mount()) {
        log.clear();
        files.take();
        let reply = caller_before.reply_to(&message);
        let made = files.take();
        assert_eq!((is_success(&reply), made.len()), (true, 1), "{name}");
        let (restarted, _) = started_after_power_failure(files.clone(), &[], &made);
        let mut other = message.clone();
        other[0] ^= 1;
        assert!(!is_success(&caller(&restarted).reply_to(&other)), "{name}, another call");
        assert!(is_success(&caller(&restarted).reply_to(&message)), "{name} again");
        assert!(files.take().is_empty(), "{name} was carried out again");
        // What is found at one start is known at the next one.
        let (restarted, next) = started_after_power_failure(files.clone(), &[], &made);
        drop(restarted);
        let (killed_again, _) = started(files.clone(), &next.all());
        assert!(is_success(&caller(&killed_again).reply_to(&message)), "{name} after a kill");
        let (restarted, _) = started_after_power_failure(files.clone(), &log.all(), &made);
        assert_eq!(caller(&restarted).reply_to(&message), reply, "{name}, whose reply was kept");
    }
}

/// Sends each call to a server that is killed before it carries the call out; hands `test` the call and the next
/// server.
fn each_call_that_never_ran(test: impl Fn(&str, &[u8], &Server)) {
    let files = memory();
    let setup = server(vec![export(EXPORT, files.clone())]);
    let calls = name_calls(&caller(&setup), &caller(&setup).mount());
    let (killed, log) = started(stuck(files.clone()), &[]);
    for (name, message) in calls {
        log.clear();
        assert!(!is_success(&caller(&killed).reply_to(&message)), "{name}");
        let (restarted, _) = started(files.clone(), &log.without_the_reply());
        test(name, &message, &restarted);
    }
}

/// Another client than the one of [`caller`].
fn other_caller(server: &Server) -> Caller<'_> {
    caller(server).from("192.0.2.2:700").over(2)
}

#[test]
fn call_that_never_ran_is_carried_out_when_it_is_sent_again() {
    each_call_that_never_ran(|name, message, restarted| {
        assert!(is_success(&caller(restarted).reply_to(message)), "{name} is carried out");
        assert!(!is_success(&other_caller(restarted).reply_to(message)), "{name}, once");
    });
}

/// Two clients race for a lock directory; the server is killed before it made the directory for the first one, and the
/// second one gets it after the restart. The same holds for the other changes.
#[test]
fn change_that_another_client_made_after_the_restart_is_not_claimed() {
    each_call_that_never_ran(|name, message, restarted| {
        assert!(is_success(&other_caller(restarted).reply_to(message)), "{name} of the other client");
        assert!(!is_success(&caller(restarted).reply_to(message)), "{name} has two winners");
    });
}

/// The directory, or a file of its name, was there all the time: the call failed, and its reply was lost.
#[test]
fn what_existed_before_the_call_is_not_its_doing() {
    let files = memory();
    let (killed, log) = started(files.clone(), &[]);
    let before = caller(&killed);
    let root = before.mount();
    let file = before.make_file(&root, "file");
    before.make_dir(&root, "dir");
    let how = CreateHow::Guarded(mode(0o644));
    let mut messages = Vec::new();
    for taken in ["file", "dir"] {
        let place = at(&root, taken);
        messages.push(before.message::<Mkdir>(&MkdirArgs { place, attributes: mode(0o755) }));
        messages.push(before.message::<Symlink>(&SymlinkArgs { place, attributes: mode(0o777), target: b"x" }));
        messages.push(before.message::<Create>(&proto::nfs3::CreateArgs { place, how }));
        messages.push(before.message::<Link>(&LinkArgs { file, link: place }));
    }
    let absent = at(&root, "absent");
    messages.push(before.message::<Remove>(&RemoveArgs { object: absent }));
    messages.push(before.message::<Rmdir>(&RmdirArgs { object: absent }));
    messages.push(before.message::<Rename>(&RenameArgs { from: absent, to: at(&root, "to") }));
    for (index, message) in messages.iter().enumerate() {
        log.clear();
        assert!(!is_success(&before.reply_to(message)), "call {index}");
        let (restarted, _) = started(files.clone(), &log.without_the_reply());
        assert!(!is_success(&caller(&restarted).reply_to(message)), "call {index} of a name that it did not change");
    }
}

/// A client removes a file, the server is killed before it did so, and the name passes to another file: that one is not
/// forgiven, but removed, like by every call.
#[test]
fn retransmission_that_finds_another_file_is_a_new_call() {
    let files = memory();
    let setup = server(vec![export(EXPORT, files.clone())]);
    let root = caller(&setup).mount();
    caller(&setup).make_file(&root, "name");
    let message = caller(&setup).message::<Remove>(&RemoveArgs { object: at(&root, "name") });
    let (killed, log) = started(stuck(files.clone()), &[]);
    assert!(!is_success(&caller(&killed).reply_to(&message)));
    let (restarted, _) = started(files.clone(), &log.without_the_reply());
    let other = other_caller(&restarted);
    other.make_file(&root, "other");
    success(other.rename(at(&root, "other"), at(&root, "name")));
    assert!(is_success(&caller(&restarted).reply_to(&message)));
    assert!(!is_success(&other_caller(&restarted).reply_to(&message)), "the name is gone");
}

/// From the look at a name until the reply is in the log, nobody else changes the name.
#[test]
fn change_of_the_same_name_waits_until_the_reply_to_the_first_one_is_in_the_log() {
    let plan: FaultPlan = "make_node(lock):delay=50ms".parse().unwrap();
    let (server, log) = started(Arc::new(FaultFs::new(memory(), plan)), &[]);
    let root = caller(&server).mount();
    let make = |client: &str, connection| {
        let client = caller(&server).from(client).over(connection);
        let args = MkdirArgs { place: at(&root, "lock"), attributes: mode(0o755) };
        is_success(&client.reply_to(&client.message::<Mkdir>(&args)))
    };
    let made = std::thread::scope(|scope| {
        let threads =
            [("192.0.2.1:700", 1), ("192.0.2.2:700", 2)].map(|client| scope.spawn(move || make(client.0, client.1)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert!(made[0] != made[1], "{made:?}");
    assert_eq!(log.kinds(), [BEGUN, ANSWERED, ANSWERED], "the one that came late found the name");
}

/// A server whose clock is so far behind that of the files: what changes now changes so much later than noted.
fn started_late(files: Arc<HostFs>, wall_clock: fn() -> SystemTime) -> (Server, Arc<Records>) {
    let mut settings = settings();
    settings.wall_clock = wall_clock;
    let mut server = Server::new(settings, vec![export(EXPORT, files)]).unwrap();
    let log = Arc::new(Records::default());
    server.keep_replies(log.clone(), &[], &[]);
    (server, log)
}

#[test]
fn change_of_a_host_directory_is_recognised_unless_it_came_too_late_to_be_the_calls() {
    let clocks: [(fn() -> SystemTime, bool); 2] =
        [(SystemTime::now, true), (|| SystemTime::now() - Duration::from_secs(5), false)];
    for (wall_clock, is_recognised) in clocks {
        let directory = Directory::new();
        let files = directory.open();
        let (killed, log) = started_late(files.clone(), wall_clock);
        let before = caller(&killed).myself();
        for (name, message) in name_calls(&before, &before.mount()) {
            log.clear();
            assert!(is_success(&before.reply_to(&message)), "{name}");
            let (restarted, _) = started(files.clone(), &log.without_the_reply());
            assert_eq!(is_success(&caller(&restarted).myself().reply_to(&message)), is_recognised, "{name}");
        }
    }
}

#[test]
fn file_that_a_local_process_made_in_the_place_of_a_directory_is_not_claimed() {
    let directory = Directory::new();
    let files = directory.open();
    let (killed, log) = started(files.clone(), &[]);
    let before = caller(&killed).myself();
    let root = before.mount();
    let args = MkdirArgs { place: at(&root, "lock"), attributes: mode(0o755) };
    let message = before.message::<Mkdir>(&args);
    assert!(is_success(&before.reply_to(&message)));
    // As if the call had not made it.
    std::fs::remove_dir(directory.export().join("lock")).unwrap();
    std::fs::write(directory.export().join("lock"), b"").unwrap();
    let (restarted, _) = started(files, &log.without_the_reply());
    assert!(!is_success(&caller(&restarted).myself().reply_to(&message)));
}
