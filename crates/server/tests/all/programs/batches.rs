//! Requests that were received together share the attributes of the file that they read or of the directory that they
//! search, and nobody else does.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use buffer::Output;
use fs_fault::{FaultFs, FaultPlan, Operation};
use proto::nfs3::{CreateHow, FileHandle, ReadHead, Res, Sattr, Status, WccData};
use rpc::{CallResult, Reply};
use xdr::Decode;

use crate::programs::sendfile::{Memory, caller, read};
use testing::caller::nfs3::{mode, size, success};
use testing::caller::{Caller, EXPORT, export, memory, server};

/// The mode and the size that the reply to a READ tells.
fn told(output: &Output) -> (u32, u64) {
    let CallResult::Success(mut from) = Reply::parse(output.bytes.as_slice()).unwrap().outcome else {
        panic!("rejected")
    };
    assert_eq!(Status::decode(&mut from).unwrap(), Status::Ok);
    let attributes = ReadHead::decode(&mut from).unwrap().attributes.unwrap();
    (attributes.mode & 0o7777, attributes.size)
}

fn mode_seen(caller: &Caller<'_>, file: FileHandle) -> u32 {
    told(&read(caller, file, 0, 100)).0
}

fn set_mode(memory: &Memory, mode: u32) {
    std::fs::set_permissions(memory.0.join("export/file"), Permissions::from_mode(mode)).unwrap();
}

#[test]
fn change_from_outside_is_seen_by_every_read_that_is_received_after_it() {
    let Some(memory) = Memory::new("batch") else { return };
    let server = memory.serve(None);
    let (caller, file) = caller(&server);
    set_mode(&memory, 0o600);
    assert_eq!(mode_seen(&caller.in_batch(1), file), 0o600);
    set_mode(&memory, 0o640);
    assert_eq!(mode_seen(&caller.in_batch(1), file), 0o600, "it had been received before the change");
    assert_eq!(mode_seen(&caller.in_batch(2), file), 0o640);
    set_mode(&memory, 0o644);
    assert_eq!(mode_seen(&caller, file), 0o644, "it came by itself");
}

#[test]
fn change_by_a_request_is_seen_by_those_behind_it_in_the_batch() {
    let Some(memory) = Memory::new("own") else { return };
    let server = memory.serve(None);
    let (caller, file) = caller(&server);
    let caller = caller.in_batch(1).on_event_loop();
    set_mode(&memory, 0o600);
    assert_eq!(mode_seen(&caller, file), 0o600);
    success(caller.setattr(&file, mode(0o640)));
    success(caller.setattr(&file, size(50)));
    assert_eq!(told(&read(&caller, file, 0, 100)), (0o640, 50));
}

#[test]
fn bytes_that_belie_the_attributes_of_the_batch_have_them_found_out_again() {
    let Some(memory) = Memory::new("belie") else { return };
    let server = memory.serve(None);
    let (caller, file) = caller(&server);
    let caller = caller.in_batch(1);
    read(&caller, file, 0, 100);
    File::options().write(true).open(memory.0.join("export/file")).unwrap().set_len(10).unwrap();
    assert_eq!(told(&read(&caller, file, 0, 100)).1, 10);
}

/// The mode of the root that the reply to a LOOKUP tells.
fn mode_of_root_seen(caller: &Caller<'_>, root: &FileHandle) -> u32 {
    success(caller.lookup(root, "file")).dir_attributes.unwrap().mode & 0o7777
}

#[test]
fn change_of_a_directory_is_seen_by_every_lookup_that_is_received_after_it() {
    let Some(memory) = Memory::new("lookup") else { return };
    let server = memory.serve(None);
    let caller = Caller::root(&server).myself().on_event_loop();
    let root = caller.mount();
    let set_mode = |mode| std::fs::set_permissions(memory.0.join("export"), Permissions::from_mode(mode)).unwrap();
    set_mode(0o700);
    assert_eq!(mode_of_root_seen(&caller.in_batch(1), &root), 0o700);
    set_mode(0o750);
    assert_eq!(mode_of_root_seen(&caller.in_batch(1), &root), 0o700, "it had been received before the change");
    assert_eq!(mode_of_root_seen(&caller.in_batch(2), &root), 0o750);
    success(caller.in_batch(2).setattr(&root, mode(0o755)));
    assert_eq!(mode_of_root_seen(&caller.in_batch(2), &root), 0o755, "a request in front of it made the change");
}

#[test]
fn name_that_appears_within_a_batch_is_found_by_the_lookups_behind_it() {
    let Some(memory) = Memory::new("appears") else { return };
    let server = memory.serve(None);
    let caller = Caller::root(&server).myself().on_event_loop().in_batch(1);
    let root = caller.mount();
    assert!(matches!(caller.lookup(&root, "new"), Res::Fail(Status::NoEnt, _)));
    std::fs::write(memory.0.join("export/new"), "").unwrap();
    success(caller.lookup(&root, "new"));
    std::fs::remove_file(memory.0.join("export/new")).unwrap();
    assert!(matches!(caller.lookup(&root, "new"), Res::Fail(Status::NoEnt, _)));
}

fn make(caller: &Caller<'_>, root: &FileHandle, name: &str) -> WccData {
    success(caller.create(root, name, CreateHow::Guarded(Sattr::default()))).dir_wcc
}

/// Whether `later` begins at the state of the directory in which `earlier` ended.
fn follows(earlier: &WccData, later: &WccData) -> bool {
    let (after, before) = (earlier.after.unwrap(), later.before.unwrap());
    (after.size, after.modified, after.changed) == (before.size, before.modified, before.changed)
}

#[test]
fn changes_of_a_directory_in_one_batch_look_at_it_once_between_them() {
    let plan = FaultPlan::default();
    let server = server(vec![export(EXPORT, Arc::new(FaultFs::new(memory(), plan.clone())))]);
    let caller = Caller::root(&server);
    let root = caller.mount();
    let looks_during = |change: &dyn Fn() -> WccData| {
        let before = plan.calls(Operation::Attributes);
        let wcc = change();
        (plan.calls(Operation::Attributes) - before, wcc)
    };
    let (alone, first) = looks_during(&|| make(&caller.in_batch(1), &root, "a"));
    let (shared, second) = looks_during(&|| make(&caller.in_batch(1), &root, "b"));
    let (next_batch, third) = looks_during(&|| make(&caller.in_batch(2), &root, "c"));
    assert_eq!((alone, shared, next_batch), (2, 1, 2));
    assert!(follows(&first, &second) && follows(&second, &third));
    let (removal, fourth) = looks_during(&|| success(caller.in_batch(2).remove(&root, "a")));
    assert_eq!(removal, 1);
    assert!(follows(&third, &fourth));
}

#[test]
fn change_by_another_client_is_seen_between_two_changes_of_a_batch() {
    let server = server(vec![export(EXPORT, memory())]);
    let (caller, other) = (Caller::root(&server).in_batch(1), Caller::root(&server).from("192.0.2.2:700").over(2));
    let root = caller.mount();
    let first = make(&caller, &root, "a");
    let foreign = make(&other, &root, "b");
    let second = make(&caller, &root, "c");
    assert!(follows(&first, &foreign) && follows(&foreign, &second) && !follows(&first, &second));
}
