//! Requests that were received together share the attributes of the file that they read, and nobody else does.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;

use buffer::Output;
use proto::nfs3::{FileHandle, ReadHead, Status};
use rpc::{CallResult, Reply};
use xdr::Decode;

use crate::caller::Caller;
use crate::caller::nfs3::{mode, size, success};
use crate::programs::sendfile::{Memory, caller, read};

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
