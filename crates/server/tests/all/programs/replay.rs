//! Calls that are sent again: the first call's reply goes out again, and nothing happens twice.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use buffer::Buffer;
use fs_fault::{FaultFs, FaultPlan, Operation as FsOperation};
use proto::nfs3::{
    Create, CreateArgs, CreateHow, FileHandle, Link, LinkArgs, Mkdir, MkdirArgs, Remove, RemoveArgs, Rename,
    RenameArgs, Res, Rmdir, RmdirArgs, Setattr, SetattrArgs, StableHow, Status, Symlink, SymlinkArgs, Write, WriteArgs,
};
use rpc::{AuthSys, Credential, Xid};
use server::{Answer, Server};
use xdr::{Encode, Encoder};

use testing::caller::nfs3::{at, failure, mode, size, success};
use testing::caller::{Caller, EXPORT, Said, export, memory, memory_server, procedure, results, server, settings};

/// A name of the procedure, and a call of it that would fail, or do harm, if it were carried out twice.
pub fn calls(caller: &Caller<'_>, root: &FileHandle) -> Vec<(&'static str, Vec<u8>)> {
    let file = caller.make_file(root, "file");
    caller.make_file(root, "victim");
    caller.make_file(root, "from");
    caller.make_dir(root, "empty");
    let how = CreateHow::Guarded(mode(0o644));
    let guard = Some(caller.attributes(&file).changed);
    vec![
        ("SETATTR", caller.message::<Setattr>(&SetattrArgs { object: file, attributes: mode(0o600), guard })),
        ("CREATE", caller.message::<Create>(&CreateArgs { place: at(root, "new"), how })),
        ("MKDIR", caller.message::<Mkdir>(&MkdirArgs { place: at(root, "dir"), attributes: mode(0o755) })),
        ("SYMLINK", {
            caller.message::<Symlink>(&SymlinkArgs { place: at(root, "link"), attributes: mode(0o777), target: b"x" })
        }),
        ("REMOVE", caller.message::<Remove>(&RemoveArgs { object: at(root, "victim") })),
        ("RMDIR", caller.message::<Rmdir>(&RmdirArgs { object: at(root, "empty") })),
        ("RENAME", caller.message::<Rename>(&RenameArgs { from: at(root, "from"), to: at(root, "to") })),
        ("LINK", caller.message::<Link>(&LinkArgs { file, link: at(root, "again") })),
    ]
}

/// Whether a reply of NFSv3 says that the call was carried out: the status behind the 24 bytes of its header.
pub fn is_success(reply: &[u8]) -> bool {
    reply[24..28] == [0; 4]
}

#[test]
fn call_sent_again_gets_the_first_reply_over_udp_and_tcp() {
    for over_udp in [true, false] {
        let server = memory_server();
        let caller = Caller::root(&server);
        let caller = if over_udp { caller.over_udp() } else { caller };
        for (name, message) in calls(&caller, &caller.mount()) {
            let first = caller.reply_to(&message);
            assert!(is_success(&first), "{name}");
            let again = caller.later(1).reply_to(&message);
            assert_eq!(again, first, "{name}");
        }
        assert_eq!(server.counters().replayed(), 8);
    }
}

/// A datagram may be in flight for so long that the client sent it again and, once answered, wrote something else in
/// its place.
#[test]
fn late_copy_of_a_write_does_not_go_over_what_was_written_since() {
    let server = memory_server();
    let caller = Caller::root(&server).over_udp();
    let file = caller.make_file(&caller.mount(), "file");
    let write = |data: &'static [u8]| {
        let (offset, count, stable) = (0, data.len() as u32, StableHow::FileSync);
        caller.message::<Write>(&WriteArgs { file, offset, count, stable, data })
    };
    let (early, later) = (write(b"early"), write(b"later"));
    let first = caller.reply_to(&early);
    assert!(is_success(&first) && is_success(&caller.reply_to(&later)));
    assert_eq!(caller.later(3).reply_to(&early), first);
    assert_eq!(success(caller.read(&file, 0, 5)).data, b"later");
}

#[test]
fn failure_is_sent_again_too() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let message = caller.message::<Remove>(&RemoveArgs { object: at(&root, "file") });
    let first = caller.reply_to(&message);
    caller.make_file(&root, "file");
    assert_eq!(caller.reply_to(&message), first, "the name that came later is not removed");
    success(caller.lookup(&root, "file"));
}

#[test]
fn same_bytes_from_another_client_are_another_call() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let how = CreateHow::Guarded(mode(0o644));
    let message = caller.message::<Create>(&CreateArgs { place: at(&root, "new"), how });
    assert!(is_success(&caller.reply_to(&message)));
    let other = caller.from("192.0.2.2:700").reply_to(&message);
    assert_eq!(failure(results::<Create>(&other)), Status::Exist);
}

#[test]
fn xid_used_again_for_another_call_is_carried_out() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let mut first = caller.message::<Mkdir>(&MkdirArgs { place: at(&root, "a"), attributes: mode(0o755) });
    let mut second = caller.message::<Mkdir>(&MkdirArgs { place: at(&root, "b"), attributes: mode(0o755) });
    first[..4].fill(1);
    second[..4].fill(1);
    assert!(is_success(&caller.reply_to(&first)) && is_success(&caller.reply_to(&second)));
    success(caller.lookup(&root, "b"));
}

#[test]
fn write_sent_again_is_carried_out_again_and_harmless() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let args = WriteArgs { file, offset: 0, count: 3, stable: StableHow::FileSync, data: b"abc" };
    let message = caller.message::<Write>(&args);
    caller.reply_to(&message);
    caller.reply_to(&message);
    assert_eq!((server.counters().replayed(), caller.attributes(&file).size), (0, 3));
}

#[test]
fn old_reply_is_forgotten_after_its_time() {
    let mut settings = settings();
    settings.replay_age = Duration::from_secs(10);
    let server = Server::new(settings, vec![export(EXPORT, memory())]).unwrap();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let message = caller.message::<Mkdir>(&MkdirArgs { place: at(&root, "dir"), attributes: mode(0o755) });
    assert!(is_success(&caller.reply_to(&message)));
    assert!(is_success(&caller.later(9).reply_to(&message)));
    assert!(!is_success(&caller.later(11).reply_to(&message)));
}

#[test]
fn call_that_is_under_way_is_not_begun_again() {
    let file_system = memory();
    let plan: FaultPlan = "remove:delay=300ms".parse().unwrap();
    let server = server(vec![export(EXPORT, Arc::new(FaultFs::new(file_system, plan.clone())))]);
    let caller = Caller::root(&server).over_udp();
    let root = caller.mount();
    caller.make_file(&root, "file");
    let message = caller.message::<Remove>(&RemoveArgs { object: at(&root, "file") });
    let both_ready = Barrier::new(2);
    let send = || {
        both_ready.wait();
        caller.send(&message)
    };
    let said = std::thread::scope(|scope| [scope.spawn(send), scope.spawn(send)].map(|thread| thread.join().unwrap()));
    assert!(
        matches!(
            &said,
            [Said::Reply(_), Said::Nothing(Answer::Silent)] | [Said::Nothing(Answer::Silent), Said::Reply(_)]
        ),
        "{said:?}"
    );
    assert!(is_success(&caller.reply_to(&message)));
    assert_eq!(server.counters().dropped(), 1);
    assert_eq!(plan.calls(FsOperation::Remove), 1);
}

#[test]
fn call_that_must_wait_leaves_no_trace_and_is_carried_out_once_by_a_thread_that_may() {
    let plan: FaultPlan = "any:wouldblock".parse().unwrap();
    let server = server(vec![export(EXPORT, Arc::new(FaultFs::new(memory(), plan.clone())))]);
    let caller = Caller::root(&server);
    let root = caller.mount();
    for (name, message) in calls(&caller, &root) {
        let on_loop = caller.on_event_loop().send(&message);
        assert!(matches!(on_loop, Said::Nothing(Answer::WouldBlock(_))), "{name}: {on_loop:?}");
        // Once more on the loop: the first try must not be taken for a call that is in progress.
        assert!(matches!(caller.on_event_loop().send(&message), Said::Nothing(Answer::WouldBlock(_))), "{name}");
        let reply = caller.reply_to(&message);
        assert!(is_success(&reply), "{name}");
        assert_eq!(caller.on_event_loop().reply_to(&message), reply, "{name} from the cache, on the loop");
    }
    assert_eq!(server.counters().deferred(), 16);
}

#[test]
fn calls_that_change_nothing_are_put_off_and_answered_too() {
    let plan: FaultPlan = "any:wouldblock".parse().unwrap();
    let server = server(vec![export(EXPORT, Arc::new(FaultFs::new(memory(), plan)))]);
    let caller = Caller::root(&server);
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    success(caller.setattr(&file, size(10)));
    let dir_args = proto::nfs3::ReaddirArgs { dir: root, cookie: 0, verifier: [0; 8], count: 4096 };
    let plus =
        proto::nfs3::ReaddirplusArgs { dir: root, cookie: 0, verifier: [0; 8], dir_count: 4096, max_count: 4096 };
    let write = WriteArgs { file, offset: 0, count: 1, stable: StableHow::Unstable, data: b"x" };
    let messages = [
        caller.message::<proto::nfs3::Getattr>(&proto::nfs3::GetattrArgs { object: file }),
        caller.message::<proto::nfs3::Lookup>(&proto::nfs3::LookupArgs { what: at(&root, "file") }),
        caller.message::<proto::nfs3::Access>(&proto::nfs3::AccessArgs { object: file, access: 1 }),
        caller.message::<proto::nfs3::Read>(&proto::nfs3::ReadArgs { file, offset: 0, count: 10 }),
        caller.message::<Write>(&write),
        caller.message::<proto::nfs3::Readdir>(&dir_args),
        caller.message::<proto::nfs3::Readdirplus>(&plus),
        caller.message::<proto::nfs3::Fsstat>(&proto::nfs3::FsArgs { object: root }),
        caller.message::<proto::nfs3::Commit>(&proto::nfs3::CommitArgs { file, offset: 0, count: 0 }),
        caller.message::<proto::mount::Mnt3>(&proto::mount::DirPath { path: EXPORT.as_bytes() }),
    ];
    for (index, message) in messages.iter().enumerate() {
        let on_loop = caller.on_event_loop().send(message);
        assert!(matches!(on_loop, Said::Nothing(Answer::WouldBlock(_))), "call {index}: {on_loop:?}");
        assert!(is_success(&caller.reply_to(message)), "call {index}");
    }
}

#[test]
fn version_2_calls_are_remembered_too() {
    let server = memory_server();
    let caller = Caller::root(&server).over_udp();
    let v2 = testing::caller::nfs2::Caller2(caller);
    let root = v2.mount();
    v2.make_file(&root, "file");
    let args = proto::nfs2::RemoveArgs { object: testing::caller::nfs2::at(&root, "file") };
    let message = caller.message::<proto::nfs2::Remove>(&args);
    let first = caller.reply_to(&message);
    assert!(is_success(&first));
    assert_eq!(caller.reply_to(&message), first);
}

#[test]
fn rejected_call_is_not_taken_for_one_that_happened() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let message = caller.message::<Remove>(&RemoveArgs { object: at(&root, "file") });
    let cut = &message[..message.len() - 8];
    assert_eq!(testing::caller::rejection(&caller.reply_to(cut)), rpc::Rejection::GarbageArguments);
    assert!(matches!(results::<Remove>(&caller.reply_to(&message)), Res::Fail(Status::NoEnt, _)));
}

/// They are arbitrary (RFC 5531 appendix A).
#[test]
fn call_sent_again_with_another_stamp_and_machine_name_is_the_same_and_one_of_another_user_is_not() {
    for over_udp in [true, false] {
        let server = memory_server();
        let caller = Caller::root(&server);
        let caller = if over_udp { caller.over_udp() } else { caller };
        let root = caller.mount();
        let made = |name: &[u8], stamp: u32, uid: u32| {
            let mut message = Buffer::new();
            let mut sys = AuthSys::new(name, uid, 100, &[7]);
            sys.stamp = stamp;
            procedure::<Mkdir>().encode_call(Xid(77), &Credential::Sys(sys), &mut Encoder::new(&mut message));
            let args = MkdirArgs { place: at(&root, "dir"), attributes: mode(0o755) };
            args.encode(&mut Encoder::new(&mut message));
            is_success(&caller.reply_to(message.as_slice()))
        };
        assert_eq!([made(b"box", 1, 1000), made(b"another", 2, 1000), made(b"box", 1, 1001)], [true, true, false]);
        assert_eq!(server.counters().replayed(), 1);
    }
}
