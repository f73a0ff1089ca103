//! What is counted: every call once, under its own name, whatever the version of NFS.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use client::{
    Detail, HeldState, LockKind, Mount, OpenOptions, Options, Rights, SpecialFile, Statistics, Transport, Version,
};
use proto::nfs3;
use proto::nfs4::{ArgOp, OpNumber};
use vfs::{CreateMode, SetAttributes, Stability};

use crate::fake::{self, Answer};
use crate::fake4;
use crate::real::Export;

/// The names of the procedures that were called since, each as often as it was called.
fn called(mount: &Mount, before: &Statistics) -> Vec<&'static str> {
    let since = mount.statistics().since(before);
    since.procedures().flat_map(|(procedure, counted)| vec![procedure.name(); counted.calls as usize]).collect()
}

/// Makes one call, and holds what was counted for it against the names of procedures.
macro_rules! check {
    ($mount:expr, $names:expr, $call:expr) => {{
        let before = $mount.statistics();
        let done = $call.await;
        assert_eq!(called(&$mount, &before), $names, "{}", $mount.version());
        done
    }};
}

async fn list(mount: &Mount, detail: Detail) {
    let mut listing = mount.read_dir(&mount.root().handle, detail);
    while listing.next().await.unwrap().is_some() {}
}

#[tokio::test]
async fn every_call_is_counted_once_under_its_name() {
    for version in [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2] {
        let export = Export::start();
        let mount = export.mount(version).await;
        let (root, set) = (mount.root().handle, SetAttributes { mode: Some(0o755), ..SetAttributes::default() });
        // The first OPEN of an owner is confirmed in 4.0 only.
        let create = match version {
            Version::V4_0 => &["OPEN_CONFIRM", "OPEN", "CLOSE"][..],
            Version::V4(_) => &["CLOSE", "OPEN"],
            _ => &["CREATE"],
        };
        let before = mount.statistics();
        let file = mount.create(&root, b"file", CreateMode::Unchecked, &set).await.unwrap().handle;
        let mut names = called(&mount, &before);
        names.sort_by_key(|name| create.iter().position(|expected| expected == name));
        assert_eq!(names, create, "{version}");
        check!(mount, ["GETATTR"], mount.getattr(&file)).unwrap();
        check!(mount, ["LOOKUP"], mount.lookup(&root, b"file")).unwrap();
        check!(mount, ["WRITE"], mount.write(&file, 0, Bytes::from_static(b"data"), Stability::File)).unwrap();
        check!(mount, ["READ"], mount.read(&file, 0, 100)).unwrap();
        check!(mount, ["MKDIR"], mount.mkdir(&root, b"dir", &set)).unwrap();
        check!(mount, ["RMDIR"], mount.rmdir(&root, b"dir")).unwrap();
        check!(mount, ["RENAME"], mount.rename(&root, b"file", &root, b"other")).unwrap();
        check!(mount, ["LINK"], mount.link(&file, &root, b"link")).unwrap();
        check!(mount, ["REMOVE"], mount.remove(&root, b"link")).unwrap();
        check!(mount, ["READDIR"], list(&mount, Detail::Names));
        if version == Version::V2 {
            check!(mount, ["STATFS"], mount.fsstat(&file)).unwrap();
            continue;
        }
        let link = check!(mount, ["SYMLINK"], mount.symlink(&root, b"symlink", b"target", &set)).unwrap();
        check!(mount, ["READLINK"], mount.readlink(&link.handle)).unwrap();
        check!(mount, ["FSSTAT"], mount.fsstat(&file)).unwrap();
        check!(mount, ["FSINFO"], mount.fsinfo(&file)).unwrap();
        check!(mount, ["PATHCONF"], mount.pathconf(&file)).unwrap();
        check!(mount, ["READDIRPLUS"], list(&mount, Detail::Entries));
        check!(mount, ["MKNOD"], mount.mknod(&root, b"fifo", SpecialFile::Fifo, &set)).unwrap();
        check!(mount, ["ACCESS"], mount.access(&file, Rights::READ)).unwrap();
        check!(mount, ["COMMIT"], mount.commit(&file, 0, 0)).unwrap();
    }
}

#[tokio::test]
async fn requests_are_the_sum_of_all_procedures_and_each_has_its_times_and_bytes() {
    let export = Export::start();
    for version in [Version::V2, Version::V3, Version::V4_2] {
        let mount = export.mount(version).await;
        let root = mount.root().handle;
        mount.lookup(&root, b"missing").await.unwrap_err();
        for _ in 0..10 {
            mount.getattr(&root).await.unwrap();
        }
        let statistics = mount.statistics();
        assert_eq!(statistics.rpc, mount.counters());
        let of_nfs = || statistics.procedures().filter(|(procedure, _)| procedure.version().is_some());
        let calls: u64 = of_nfs().map(|(_, counted)| counted.calls).sum();
        assert_eq!((calls, calls), (statistics.rpc.calls, statistics.rpc.replies));
        for (procedure, counted) in of_nfs() {
            let name = procedure.name();
            assert_eq!(procedure.version(), Some(version.number()), "{name}");
            assert_eq!(counted.calls, counted.replies, "{name}");
            assert_eq!([&counted.queue, &counted.wire, &counted.total].map(|times| times.count()), [counted.calls; 3]);
            assert_eq!(counted.queue.sum() + counted.wire.sum(), counted.total.sum());
            // The shortest call is a header, the shortest reply too.
            assert!(counted.sent_bytes >= 44 * counted.calls && counted.received_bytes >= 28 * counted.calls, "{name}");
            assert_eq!(counted.errors, u64::from(name == "LOOKUP"), "{name}");
        }
    }
}

#[tokio::test]
async fn operations_of_compounds_are_counted_one_by_one() {
    let export = Export::start();
    let mount = export.mount(Version::V4_1).await;
    let before = mount.statistics();
    let root = mount.root().handle;
    mount.lookup(&root, b"missing").await.unwrap_err();
    mount.getattr(&root).await.unwrap();
    let since = mount.statistics().since(&before);
    let counted = |operation: OpNumber| (since.operation(operation).calls, since.operation(operation).errors);
    assert_eq!(counted(OpNumber::Sequence), (2, 0));
    assert_eq!(counted(OpNumber::Putfh), (2, 0));
    assert_eq!(counted(OpNumber::Lookup), (1, 1));
    assert_eq!(counted(OpNumber::Getfh), (1, 0));
    assert_eq!(counted(OpNumber::Getattr), (2, 0));
}

#[tokio::test]
async fn open_and_close_are_counted_as_what_they_are() {
    let export = Export::start();
    for version in [Version::V4_0, Version::V4_2] {
        let mount = export.mount(version).await;
        let before = mount.statistics();
        let options = OpenOptions::both().creating(CreateMode::Unchecked, SetAttributes::default());
        mount.open(&mount.root().handle, b"file", &options).await.unwrap().close().await.unwrap();
        let since = mount.statistics().since(&before);
        assert_eq!((since.calls("OPEN"), since.calls("CLOSE")), (1, 1), "{version}");
    }
}

#[tokio::test]
async fn call_whose_datagram_is_lost_is_counted_once_and_its_retransmission_and_bytes_too() {
    let turn = AtomicU32::new(0);
    let address = fake::serve(move |_| match turn.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::Silence,
        _ => Answer::Results(Vec::new()),
    })
    .await;
    let timeout = Some(Duration::from_millis(50));
    let options = Options { transport: Transport::Udp, timeout, ..fake::options() };
    let connection = fake::connect(address, &options).await;
    connection.call::<nfs3::Null>(&()).await.unwrap();
    let lossy = connection.statistics();
    connection.call::<nfs3::Null>(&()).await.unwrap();
    let clean = connection.statistics().since(&lossy);
    let (lossy, clean) = (lossy.procedures().next().unwrap().1, clean.procedures().next().unwrap().1);
    assert_eq!((lossy.calls, lossy.replies, lossy.errors), (1, 1, 0));
    assert!(lossy.retransmissions >= 1 && lossy.timeouts == lossy.retransmissions, "{lossy:?}");
    assert_eq!(lossy.sent_bytes, clean.sent_bytes / (1 + clean.retransmissions) * (1 + lossy.retransmissions));
    assert!(lossy.wire.sum() >= Duration::from_millis(50), "the wait for what was lost is on the wire");
}

/// How often procedures of other programs than NFS were called.
fn called_of_others(statistics: &Statistics) -> Vec<(&'static str, &'static str, u64)> {
    let others = statistics.procedures().filter(|(procedure, _)| procedure.version().is_none());
    others.map(|(procedure, counted)| (procedure.program(), procedure.name(), counted.calls)).collect()
}

#[tokio::test]
async fn calls_to_mount_and_to_the_lock_manager_are_counted_apart_from_those_to_nfs() {
    let export = Export::start();
    let mount = export.mount(Version::V3).await;
    let connected = mount.statistics();
    assert_eq!(called_of_others(&connected), [("MOUNT", "NULL", 1), ("MOUNT", "MNT", 1), ("MOUNT", "EXPORT", 1)]);
    let options = OpenOptions::both().creating(CreateMode::Unchecked, SetAttributes::default());
    let root = mount.root().handle;
    let first = mount.open(&root, b"file", &options).await.unwrap();
    let second = mount.open(&root, b"file", &options).await.unwrap();
    first.try_lock(LockKind::Exclusive, 0, 10).await.unwrap();
    second.try_lock(LockKind::Exclusive, 0, 10).await.unwrap_err();
    let locked = mount.statistics().since(&connected);
    let of_nlm = |name| {
        let mut all = locked.procedures();
        all.find(|(procedure, _)| (procedure.program(), procedure.name()) == ("NLM", name)).unwrap().1.clone()
    };
    assert_eq!((of_nlm("LOCK").calls, of_nlm("LOCK").errors), (2, 1));
    assert_eq!(locked.calls("LOCK"), 0, "it is none of NFS");
    assert_eq!(mount.statistics().rpc, mount.counters());
    let meter = mount.meter();
    first.close().await.unwrap();
    second.close().await.unwrap();
    mount.unmount().await.unwrap();
    assert!(called_of_others(&meter.statistics()).contains(&("MOUNT", "UMNT", 1)), "what is over still counts");
}

#[tokio::test]
async fn what_is_held_at_the_server_is_told_as_long_as_it_is() {
    let export = Export::start();
    for version in [Version::V3, Version::V4_0, Version::V4_1] {
        let options = Options { uses_delegations: false, ..export.options(version) };
        let mount = Mount::connect(&export.url(), &options).await.unwrap();
        assert_eq!(mount.statistics().held, HeldState::default());
        let options = OpenOptions::both().creating(CreateMode::Unchecked, SetAttributes::default());
        let file = mount.open(&mount.root().handle, b"file", &options).await.unwrap();
        let other = mount.open(&mount.root().handle, b"other", &options).await.unwrap();
        file.lock(LockKind::Exclusive, 0, 10).await.unwrap();
        file.lock(LockKind::Exclusive, 20, 10).await.unwrap();
        let held = HeldState { open_owners: 2, opens: 2, lock_owners: 1, locks: 2, ..HeldState::default() };
        let (statistics, is_v4) = (mount.statistics(), version >= Version::V4_0);
        assert_eq!(statistics.held, if is_v4 { held } else { HeldState::default() }, "{version}");
        assert_eq!(statistics.since(&statistics).held, statistics.held, "no interval makes it less");
        file.close().await.unwrap();
        other.close().await.unwrap();
        assert_eq!(mount.statistics().held, HeldState::default());
    }
}

#[tokio::test]
async fn wait_for_a_slot_of_the_session_is_time_in_the_queue() {
    const HELD: Duration = Duration::from_millis(20);
    let hold = |operation: &ArgOp<'_>, _: &[u8]| {
        if matches!(operation, ArgOp::Lookup(_)) {
            // Nothing else goes on meanwhile, on the one thread that there is.
            std::thread::sleep(HELD);
        }
        None
    };
    // The server wants one slot to be used.
    let (mount, _) = fake4::mount_in_memory(hold, |_, reply| reply, fake4::options()).await.unwrap();
    let root = mount.root().handle;
    let (first, second) = tokio::join!(mount.lookup(&root, b"first"), mount.lookup(&root, b"second"));
    assert!(first.is_ok() && second.is_ok());
    let statistics = mount.statistics();
    let (_, lookups) = statistics.procedures().find(|(procedure, _)| procedure.name() == "LOOKUP").unwrap();
    assert_eq!(lookups.calls, 2);
    assert!(lookups.queue.sum() >= HELD, "{:?}", lookups.queue);
    assert!(lookups.total.sum() >= 3 * HELD, "{:?}", lookups.total);
}

#[tokio::test]
async fn calls_under_way_and_forgotten_ones_are_counted_too() {
    let address = fake::serve(|_| Answer::Silence).await;
    let options = Options { transport: Transport::Udp, ..fake::options() };
    let connection = fake::connect(address, &options).await;
    let counted = || connection.statistics().procedures().next().unwrap().1.clone();
    {
        let mut calling = std::pin::pin!(connection.call::<nfs3::Null>(&()));
        tokio::time::timeout(Duration::from_millis(20), &mut calling).await.unwrap_err();
        assert_eq!((counted().calls, counted().replies), (1, 0), "it is under way");
    }
    let forgotten = counted();
    assert_eq!((forgotten.calls, forgotten.replies, forgotten.errors), (1, 0, 0));
    assert!(forgotten.sent_bytes > 0);
}

#[tokio::test]
async fn call_that_fails_for_want_of_a_reply_is_an_error() {
    let address = fake::serve(|_| Answer::Silence).await;
    let timeout = Some(Duration::from_millis(20));
    let options = Options { transport: Transport::Udp, timeout, retransmissions: Some(1), ..fake::options() };
    let connection = fake::connect(address, &options).await;
    connection.call::<nfs3::Null>(&()).await.unwrap_err();
    let statistics = connection.statistics();
    let (_, null) = statistics.procedures().next().unwrap();
    assert_eq!((null.calls, null.replies, null.errors, null.timeouts), (1, 0, 1, 2));
}
