//! Storage that fails: the right status, and no promise that was not kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fs_fault::{FaultFs, FaultPlan, Operation as FsOperation};
use fs_mem::{MemFs, MemOptions};
use proto::nfs3::{CreateHow, FileHandle, Read, ReadArgs, Res, StableHow, Status};
use server::Server;
use vfs::FileSystem;

use testing::caller::nfs2::{self, Caller2};
use testing::caller::nfs3::{at, failure, mode, size, success};
use testing::caller::{Caller, EXPORT, INSTANCE, export, memory, server};

fn plan(text: &str) -> Vec<fs_fault::Rule> {
    text.split(',').map(|rule| rule.parse().unwrap()).collect()
}

/// A server whose storage fails as a plan says, which says nothing at first.
fn faulty() -> (Server, FaultPlan) {
    let plan = FaultPlan::default();
    (server(vec![export(EXPORT, Arc::new(FaultFs::new(memory(), plan.clone())))]), plan)
}

fn start(server: &Server) -> (Caller<'_>, FileHandle, FileHandle) {
    let caller = Caller::root(server);
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    (caller, root, file)
}

#[test]
fn failures_of_writes_have_their_own_status_in_both_versions() {
    use proto::nfs2::Status as Status2;
    for (error, status, status2) in [
        ("nospace", Status::NoSpc, Status2::NoSpc),
        ("quota", Status::DQuot, Status2::DQuot),
        ("readonly", Status::RoFs, Status2::RoFs),
        ("io", Status::Io, Status2::Io),
        ("toobig", Status::FBig, Status2::FBig),
        ("stale", Status::Stale, Status2::Stale),
        ("trylater", Status::Jukebox, Status2::Io),
    ] {
        let (server, faults) = faulty();
        let (caller, root, file) = start(&server);
        let v2 = Caller2(caller);
        let (root2, file2) = (v2.mount(), nfs2::success(v2.lookup(&v2.mount(), "file")).file);
        faults.replace(plan(&format!("write:error={error},create:error={error},remove:error={error}")));
        let how = CreateHow::Guarded(proto::nfs3::Sattr::default());
        assert_eq!(failure(caller.write(&file, 0, StableHow::Unstable, b"x")), status);
        assert_eq!(failure(caller.create(&root, "new", how)), status);
        assert_eq!(failure(caller.remove(&root, "file")), status);
        assert_eq!(nfs2::failure(v2.write(&file2, 0, b"x")), status2);
        assert_eq!(nfs2::failure(v2.create(&root2, "new", nfs2::mode(0o644))), status2);
    }
}

#[test]
fn failures_of_reads_have_their_own_status() {
    let (server, faults) = faulty();
    let (caller, root, file) = start(&server);
    success(caller.setattr(&file, size(10)));
    for (rule, status) in [("read:error=io", Status::Io), ("read:error=stale", Status::Stale)] {
        faults.replace(plan(rule));
        assert_eq!(failure(caller.read(&file, 0, 10)), status);
    }
    faults.replace(plan("attributes:error=io,lookup:error=io,read_dir:error=io,space:error=io"));
    assert_eq!(failure(caller.getattr(&file)), Status::Io);
    assert_eq!(failure(caller.lookup(&root, "file")), Status::Io);
}

#[test]
fn full_disk_is_told_and_nothing_acknowledged_is_lost() {
    let options = MemOptions { capacity_bytes: 1 << 20, root_mode: 0o777, ..MemOptions::default() };
    let server = server(vec![export(EXPORT, Arc::new(MemFs::new(options)))]);
    let (caller, _, file) = start(&server);
    let mut acknowledged = 0;
    let status = loop {
        match caller.write(&file, acknowledged, StableHow::FileSync, &[b'x'; 10_000]) {
            Res::Ok(ok) => acknowledged += u64::from(ok.count),
            Res::Fail(status, _) => break status,
        }
    };
    assert_eq!(status, Status::NoSpc);
    assert!(acknowledged > 900_000);
    let mut found = 0;
    while found < acknowledged {
        let part = success(caller.read(&file, found, 65_536)).data;
        assert!(!part.is_empty() && part.iter().all(|byte| *byte == b'x'));
        found += part.len() as u64;
    }
}

#[test]
fn failed_commit_makes_a_new_verifier() {
    let (server, faults) = faulty();
    let (caller, _, file) = start(&server);
    let unstable = success(caller.write(&file, 0, StableHow::Unstable, b"x"));
    assert_eq!(unstable.verifier, INSTANCE.to_be_bytes());
    faults.replace(plan("sync:error=io@1"));
    assert_eq!(failure(caller.commit(&file)), Status::Io);
    let verifier = success(caller.commit(&file)).verifier;
    assert_ne!(verifier, unstable.verifier, "the client must send its bytes again");
    assert_eq!(success(caller.write(&file, 0, StableHow::Unstable, b"x")).verifier, verifier);
}

#[test]
fn failed_stable_write_makes_a_new_verifier_and_a_failed_unstable_one_does_not() {
    let (server, faults) = faulty();
    let (caller, _, file) = start(&server);
    for (stable, is_renewed) in [(StableHow::FileSync, true), (StableHow::DataSync, true), (StableHow::Unstable, false)]
    {
        let before = success(caller.commit(&file)).verifier;
        faults.replace(plan("write:error=io@1"));
        assert_eq!(failure(caller.write(&file, 0, stable, b"x")), Status::Io);
        assert_eq!(success(caller.commit(&file)).verifier != before, is_renewed, "{stable:?}");
    }
}

/// A file system that loses unstable writes by itself.
struct Losing {
    inner: MemFs,
    losses: AtomicU64,
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Losing {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        lookup, find, parent, read_link, open, hold, has_local_locks, open_for_locks, lease_break_time, lease, read_dir,
        create, set_attributes, rename, make_node, link, remove, remove_seen, remove_dir, get_xattr, set_xattr,
        list_xattrs, remove_xattr, acls, set_acls, maintain, sync_all, memory, space, log_marks, set_log_mark);

    fn losses(&self) -> u64 {
        self.losses.load(Ordering::Relaxed)
    }
}

#[test]
fn loss_that_only_the_file_system_knows_of_makes_a_new_verifier_for_its_exports_alone() {
    let losing = Arc::new(Losing { inner: MemFs::new(MemOptions::default()), losses: AtomicU64::new(0) });
    let server = server(vec![export(EXPORT, Arc::clone(&losing) as _), export("/other", memory())]);
    let caller = Caller::root(&server);
    let files = [caller.mount(), caller.mount_path("/other")].map(|root| caller.make_file(&root, "file"));
    let before = files.each_ref().map(|file| success(caller.write(file, 0, StableHow::Unstable, b"x")).verifier);
    losing.losses.store(1, Ordering::Relaxed);
    let after = files.each_ref().map(|file| success(caller.commit(file)).verifier);
    assert_ne!(after[0], before[0], "the client must send its bytes again");
    assert_eq!(after[1], before[1]);
    assert_eq!(success(caller.write(&files[0], 0, StableHow::Unstable, b"x")).verifier, after[0]);
}

#[test]
fn commit_that_only_has_to_wait_keeps_the_verifier() {
    let (server, faults) = faulty();
    let (caller, _, file) = start(&server);
    faults.replace(plan("sync:wouldblock"));
    let message = caller.message::<proto::nfs3::Commit>(&proto::nfs3::CommitArgs { file, offset: 0, count: 0 });
    caller.on_event_loop().send(&message);
    assert_eq!(success(caller.commit(&file)).verifier, INSTANCE.to_be_bytes());
}

#[test]
fn short_write_is_told_in_version_3_and_finished_in_version_2() {
    let (server, faults) = faulty();
    let (caller, _, file) = start(&server);
    let v2 = Caller2(caller);
    let file2 = nfs2::success(v2.lookup(&v2.mount(), "file")).file;
    faults.replace(plan("write:short=3"));
    assert_eq!(success(caller.write(&file, 0, StableHow::Unstable, b"0123456789")).count, 3);
    assert_eq!(nfs2::success(v2.write(&file2, 0, b"0123456789")).size, 10);
    assert_eq!(nfs2::success(v2.read(&file2, 0, 100)).data, b"0123456789");
}

#[test]
fn writes_of_version_2_are_stable_and_their_failure_is_told() {
    let (server, faults) = faulty();
    let (caller, _, file) = start(&server);
    let v2 = Caller2(caller);
    let file2 = nfs2::success(v2.lookup(&v2.mount(), "file")).file;
    faults.replace(plan("write:error=io@1"));
    assert_eq!(nfs2::failure(v2.write(&file2, 0, b"x")), proto::nfs2::Status::Io);
    let after = success(caller.commit(&file)).verifier;
    assert_ne!(after, INSTANCE.to_be_bytes(), "a stable write was asked for, so its failure may have lost others");
}

#[test]
fn files_that_nobody_uses_are_closed_when_descriptors_run_out() {
    let (server, faults) = faulty();
    let (caller, root, file) = start(&server);
    success(caller.setattr(&file, size(10)));
    let other = caller.make_file(&root, "other");
    success(caller.read(&other, 0, 1));
    faults.replace(plan("open:error=trylater@1"));
    success(caller.read(&file, 0, 10));
    faults.replace(plan("open:error=trylater"));
    assert_eq!(failure(caller.read(&caller.make_file(&root, "third"), 0, 10)), Status::Jukebox);
}

#[test]
fn open_file_is_used_again_until_its_last_name_is_gone() {
    let (server, faults) = faulty();
    let (caller, root, file) = start(&server);
    success(caller.link(&file, &root, "again"));
    let opens = || faults.calls(FsOperation::Open);
    for _ in 0..5 {
        success(caller.read(&file, 0, 1));
    }
    assert_eq!(opens(), 1);
    success(caller.remove(&root, "again"));
    success(caller.read(&file, 0, 1));
    assert_eq!(opens(), 1, "a name was left");
    success(caller.remove(&root, "file"));
    assert_eq!(failure(caller.read(&file, 0, 1)), Status::Stale);
}

#[test]
fn space_of_a_removed_or_replaced_file_is_free_at_once() {
    let file_system = memory();
    let server = server(vec![export(EXPORT, file_system)]);
    let (caller, root, file) = start(&server);
    let free = || success(caller.call::<proto::nfs3::Fsstat>(&proto::nfs3::FsArgs { object: root })).free_bytes;
    let empty = free();
    let fill = |file: &FileHandle| {
        success(caller.write(file, 0, StableHow::Unstable, &[1; 500_000]));
        success(caller.read(file, 0, 1000));
        assert!(free() < empty);
    };
    fill(&file);
    success(caller.remove(&root, "file"));
    assert_eq!(free(), empty, "after REMOVE");
    fill(&caller.make_file(&root, "replaced"));
    caller.make_file(&root, "over");
    success(caller.rename(at(&root, "over"), at(&root, "replaced")));
    assert_eq!(free(), empty, "after RENAME");
}

#[test]
fn read_that_fails_half_way_leaves_a_whole_reply() {
    let (server, faults) = faulty();
    let (caller, _, file) = start(&server);
    success(caller.setattr(&file, size(100_000)));
    faults.replace(plan("read:error=io@1"));
    let reply = caller.reply_to(&caller.message::<Read>(&ReadArgs { file, offset: 0, count: 65_536 }));
    assert!(reply.len() < 200, "{} bytes for a failure", reply.len());
}

#[test]
fn unchecked_create_takes_what_another_call_made_and_makes_what_another_removed() {
    for race in ["create(file):error=exists@1", "lookup(file):error=noentry@1,create(file):error=exists@1"] {
        let (server, faults) = faulty();
        let (caller, root, file) = start(&server);
        let v2 = Caller2(caller);
        let root2 = v2.mount();
        faults.replace(plan(race));
        let taken = success(caller.create(&root, "file", CreateHow::Unchecked(mode(0o600))));
        assert_eq!(taken.object, Some(file), "{race}");
        success(caller.remove(&root, "file"));
        faults.replace(plan(race));
        success(caller.create(&root, "file", CreateHow::Unchecked(mode(0o600))));
        success(caller.remove(&root, "file"));
        faults.replace(plan(race));
        nfs2::success(v2.create(&root2, "file", nfs2::mode(0o600)));
    }
}

#[test]
fn unchecked_create_that_truncates_a_file_which_another_call_removes_makes_it_anew() {
    let (server, faults) = faulty();
    let (caller, root, _) = start(&server);
    faults.replace(plan("set_attributes:error=stale@1"));
    success(caller.create(&root, "file", CreateHow::Unchecked(size(0))));
    faults.replace(plan("create(file):error=exists,lookup(file):error=noentry"));
    assert_eq!(failure(caller.create(&root, "file", CreateHow::Unchecked(size(0)))), Status::Jukebox);
}
