//! File handles: altered ones, those of exports that are gone, and reloading exports.

use std::sync::Arc;

use proto::nfs3::{FileHandle, StableHow, Status};
use server::{Export, ExportOptions, HandleKey, Server};

use testing::caller::nfs2::{self, Caller2};
use testing::caller::nfs3::{failure, success};
use testing::caller::{Caller, EXPORT, export, export_with, memory, memory_server, server, settings};

#[test]
fn every_altered_bit_of_a_handle_is_refused() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    for bit in 0..file.as_bytes().len() * 8 {
        let mut bytes = file.as_bytes().to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let altered = FileHandle::new(&bytes).unwrap();
        let status = failure(caller.getattr(&altered));
        assert!(matches!(status, Status::BadHandle | Status::Stale), "bit {bit}: {status:?}");
    }
}

#[test]
fn what_was_never_a_handle_is_bad_and_in_version_2_stale() {
    let server = memory_server();
    let caller = Caller::root(&server);
    for bytes in [&b""[..], &[0; 32], &[0xff; 64], b"short"] {
        assert_eq!(failure(caller.getattr(&FileHandle::new(bytes).unwrap())), Status::BadHandle);
    }
    let status = nfs2::failure(Caller2(caller).getattr(&proto::nfs2::FileHandle([0; 32])));
    assert_eq!(status, proto::nfs2::Status::Stale);
}

#[test]
fn handle_of_a_server_with_another_key_is_stale() {
    let file_system = memory();
    let first = server(vec![export(EXPORT, file_system.clone())]);
    let mut settings = settings();
    settings.handle_key = HandleKey::new([8; 16]);
    let second = Server::new(settings, vec![export(EXPORT, file_system)]).unwrap();
    let handle = Caller::root(&first).mount();
    assert_eq!(failure(Caller::root(&second).getattr(&handle)), Status::Stale);
}

#[test]
fn handle_outlives_the_server_that_made_it() {
    let file_system = memory();
    let first = server(vec![export(EXPORT, file_system.clone())]);
    let caller = Caller::root(&first);
    let file = caller.make_file(&caller.mount(), "file");
    let restarted = server(vec![export(EXPORT, file_system)]);
    success(Caller::root(&restarted).write(&file, 0, StableHow::Unstable, b"x"));
}

#[test]
fn reload_keeps_handles_of_unchanged_exports_and_makes_those_of_gone_ones_stale() {
    let (kept, gone) = (memory(), memory());
    let server = server(vec![export(EXPORT, kept.clone()), export("/srv/gone", gone.clone())]);
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let lost = caller.make_file(&caller.mount_path("/srv/gone"), "file");
    success(caller.read(&lost, 0, 1));
    server.reload(vec![export("/srv/new", memory()), export(EXPORT, kept)]).unwrap();
    success(caller.write(&file, 0, StableHow::Unstable, b"x"));
    assert_eq!(failure(caller.getattr(&lost)), Status::Stale);
    assert_eq!(failure(caller.read(&lost, 0, 1)), Status::Stale, "no open file is left to read from");
    caller.mount_path("/srv/new");
    server.reload(vec![export("/srv/gone", gone)]).unwrap();
    success(caller.getattr(&lost));
}

#[test]
fn reload_changes_options_under_clients_that_stay() {
    let file_system = memory();
    let server = server(vec![export(EXPORT, file_system.clone())]);
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount(), "file");
    let options = ExportOptions { read_only: true, ..ExportOptions::default() };
    server.reload(vec![export_with(EXPORT, file_system, options)]).unwrap();
    assert_eq!(failure(caller.write(&file, 0, StableHow::Unstable, b"x")), Status::RoFs);
}

#[test]
fn refused_reload_leaves_the_old_exports_in_force() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    assert!(server.reload(vec![export("/twice", memory()), export("/twice", memory())]).is_err());
    success(caller.getattr(&root));
}

#[test]
fn fsid_keeps_handles_when_an_export_is_renamed() {
    let file_system = memory();
    let named = |name| Export { fsid: Some(7), ..export(name, file_system.clone()) };
    let server = server(vec![named("/old")]);
    let caller = Caller::root(&server);
    let file = caller.make_file(&caller.mount_path("/old"), "file");
    let fsid = caller.attributes(&file).fsid;
    server.reload(vec![named("/new")]).unwrap();
    assert_eq!(caller.attributes(&file).fsid, fsid);
}

#[test]
fn two_exports_of_one_file_system_have_handles_of_their_own() {
    let file_system = memory();
    let options = ExportOptions { read_only: true, ..ExportOptions::default() };
    let exports =
        vec![export("/open", file_system.clone()), export_with("/closed", Arc::clone(&file_system) as _, options)];
    let server = server(exports);
    let caller = Caller::root(&server);
    let (open, closed) = (caller.mount_path("/open"), caller.mount_path("/closed"));
    assert_ne!(open, closed);
    caller.make_file(&open, "file");
    let through_closed = caller.handle_of(&closed, "file");
    assert_eq!(failure(caller.write(&through_closed, 0, StableHow::Unstable, b"x")), Status::RoFs);
}
