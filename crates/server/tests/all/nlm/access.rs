//! Who may lock what.

use proto::nfs3::FileHandle;
use proto::nlm::{Status, V1, V3, V4};
use server::{ExportOptions, Squash};

use crate::nlm::host::{How, Process};
use testing::caller::nfs3::{mode, success};
use testing::caller::{Caller, EXPORT, export_with, memory, memory_server, memory_with_files, server};

const SHARED: How = How { block: false, shared: true, reclaim: false, state: 0 };

#[test]
fn who_may_neither_read_nor_write_may_not_lock_and_the_owner_may() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let owner = caller.user(1000, 100, &[]);
    let file = owner.make_file(&caller.mount(), "file");
    success(owner.setattr(&file, mode(0)));
    let stranger = Process::new(caller.user(1001, 101, &[]), "box", 1, file);
    assert_eq!(stranger.lock(0, 1), Status::Failed);
    assert_eq!(stranger.lock_as::<V3>(0, 1, SHARED), Status::DeniedNoLocks, "version 3 has no status for it");
    assert_eq!(Process { caller: owner, ..stranger }.lock(0, 1), Status::Granted);
    success(owner.setattr(&file, mode(0o004)));
    assert_eq!(stranger.lock(1, 1), Status::Granted);
}

#[test]
fn superuser_who_is_squashed_is_a_stranger() {
    let options = ExportOptions { squash: Squash::Root, ..ExportOptions::default() };
    let server = server(vec![export_with(EXPORT, memory(), options)]);
    let caller = Caller::root(&server);
    let owner = caller.user(1000, 100, &[]);
    let file = owner.make_file(&caller.mount(), "file");
    success(owner.setattr(&file, mode(0o600)));
    assert_eq!(Process::new(caller, "box", 1, file).lock(0, 1), Status::Failed);
}

#[test]
fn file_of_a_read_only_export_is_locked_for_reading_alone() {
    let options = ExportOptions { read_only: true, squash: Squash::None, ..ExportOptions::default() };
    let server = server(vec![export_with(EXPORT, memory_with_files(1), options)]);
    let caller = Caller::root(&server);
    let file = caller.handle_of(&caller.mount(), "stable-0");
    let process = Process::new(caller, "box", 1, file);
    assert_eq!(process.lock(0, 1), Status::RoFs);
    assert_eq!(process.lock_as::<V1>(0, 1, How::default()), Status::DeniedNoLocks);
    assert_eq!(process.lock_as::<V4>(0, 1, SHARED), Status::Granted);
}

#[test]
fn lock_of_what_is_no_file_or_is_gone_is_refused_and_its_unlock_is_not() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    let process = Process::new(caller, "box", 1, file);
    assert_eq!(Process { file: root, ..process }.lock(0, 1), Status::Failed);
    assert_eq!(Process { file: FileHandle::new(b"no handle").unwrap(), ..process }.lock(0, 1), Status::StaleFh);
    success(caller.remove(&root, "file"));
    assert_eq!(process.lock(0, 1), Status::StaleFh);
    assert_eq!(process.unlock(0, 0), Status::Granted);
}

#[test]
fn locked_file_that_is_removed_is_used_until_it_is_unlocked() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    let process = Process::new(caller, "box", 1, file);
    assert_eq!(process.lock(0, 10), Status::Granted);
    success(caller.remove(&root, "file"));
    assert_eq!((process.lock(10, 1), caller.attributes(&file).links), (Status::Granted, 0));
    assert_eq!(process.unlock(0, 0), Status::Granted);
    assert_eq!(process.lock(0, 1), Status::StaleFh);
}

#[test]
fn range_past_the_last_offset_is_too_large() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let process = Process::new(caller, "box", 1, caller.make_file(&caller.mount(), "file"));
    assert_eq!(process.lock(u64::MAX, 2), Status::FBig);
    assert_eq!(process.lock(u64::MAX, 0), Status::Granted);
    assert_eq!(process.lock_as::<V1>(u32::MAX.into(), u32::MAX.into(), How::default()), Status::Granted);
}
